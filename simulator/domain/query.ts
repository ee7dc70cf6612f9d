/**
 * The grammar of a query for deliveries: text, and terms between its words.
 *
 *     needle type:order.created status:500 cause:timed_out order.total:>50 customer_name:="Zoë Jäger"
 *
 * `name:value` is a field of the selection (`QUERY_FIELDS`). A path with a dot or an operator is looked up in the payload: in
 * `data.object`, where the event's noun may precede it (`order.total`), or in the whole envelope.
 * All other words are one text. This file imports nothing, so that the dashboard can use it, too.
 */

/** The name before a colon, and its field of the selection. */
export const QUERY_FIELDS = {
  type: "type",
  state: "state",
  verdict: "verdict",
  cause: "cause",
  status: "status",
  phone: "phone",
  event: "event_id",
  endpoint: "endpoint_id",
  after: "since",
  before: "until",
  gave_up_after: "gave_up_since",
  gave_up_before: "gave_up_until",
} as const;

export type QueryField = (typeof QUERY_FIELDS)[keyof typeof QUERY_FIELDS];

/** A condition on the payload: any value at `path` must compare so. */
export type PathTerm = { path: string[]; operator: "=" | ">" | ">=" | "<" | "<="; value: string };

export type Query = { fields: { [Field in QueryField]?: string }; paths: PathTerm[]; text: string };

/** A term: a name or a path, a colon, an optional operator, and a value, perhaps in quotation marks. */
const TERM = /(?:^|\s)([a-z_]\w*(?:\.\w+)*):(>=|<=|>|<|=)?("[^"]*"|[^\s"]\S*)(?=\s|$)/gi;

/** Parses a query. Of two terms for one field the last one counts. */
export function parseQuery(query: string): Query {
  const fields: Query["fields"] = {};
  const paths: PathTerm[] = [];
  const text = query.replaceAll(TERM, (term, name: string, operator: string | undefined, written: string) => {
    const value = written.replaceAll('"', "");
    if (operator === undefined && isField(name)) fields[QUERY_FIELDS[name]] = value;
    else if (operator !== undefined || name.includes("."))
      paths.push({ path: name.split("."), operator: operatorOf(operator), value });
    else return term;
    return "";
  });
  return { fields, paths, text: text.trim() };
}

function isField(name: string): name is keyof typeof QUERY_FIELDS {
  return Object.hasOwn(QUERY_FIELDS, name);
}

function operatorOf(written = "="): PathTerm["operator"] {
  return written === ">" || written === ">=" || written === "<" || written === "<=" ? written : "=";
}

export function meetsPaths(terms: readonly PathTerm[], type: string, envelope: unknown): boolean {
  const [noun = ""] = type.split(".");
  return terms.every((term) => {
    const { path } = term;
    const inObject = ["data", "object"];
    const places = [[...inObject, ...path], path];
    if (path[0] === noun) places.push([...inObject, ...path.slice(1)]);
    return places.some((place) => valuesAt(envelope, place).some((value) => compares(value, term)));
  });
}

/** The values at a path; of a list on the way, those of each item. */
function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  const [name, ...rest] = path;
  if (Array.isArray(value) && !/^\d+$/.test(name ?? "")) return value.flatMap((item) => valuesAt(item, path));
  if (name === undefined) return [value];
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return [];
  return valuesAt(Reflect.get(value, name), rest);
}

/** Compares numbers as numbers, even if written as text, and all else as text without regard to case. */
function compares(value: unknown, { operator, value: asked }: PathTerm): boolean {
  if (typeof value === "object" && value !== null) return false;
  const [left, right] = [numberOf(String(value)), numberOf(asked)];
  const order =
    left === undefined || right === undefined
      ? textOrder(String(value).toLowerCase(), asked.toLowerCase())
      : left - right;
  if (operator === "=") return order === 0;
  if (operator.startsWith(">")) return operator === ">=" ? order >= 0 : order > 0;
  return operator === "<=" ? order <= 0 : order < 0;
}

function numberOf(text: string): number | undefined {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function textOrder(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}
