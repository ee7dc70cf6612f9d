import { z } from "zod";
import { parseFault, type Fault } from "../domain/faults.ts";

const LONGEST_QUERY_CHARACTERS = 200;
const LONGEST_NAME_CHARACTERS = 200;
const MOST_FAULTS = 100;

/** What a search for deliveries may ask for between its words, as `status:500`: the parameter that each stands for. */
const SEARCH_FIELDS: Record<string, string> = {
  status: "status",
  type: "type",
  state: "state",
  verdict: "verdict",
  endpoint: "endpoint_id",
  phone: "phone",
  after: "since",
  before: "until",
};

/** Takes `name:value` out of the text `q` of a request, into the parameters that they stand for. */
export function withSearchFields(asked: unknown): unknown {
  if (typeof asked !== "object" || asked === null || !("q" in asked) || typeof asked.q !== "string")
    return asked;
  const fields: Record<string, string> = {};
  const words = asked.q.split(/\s+/).filter((word) => {
    const [, name = "", value = ""] = /^([a-z]+):(.+)$/.exec(word) ?? [];
    const parameter = Object.hasOwn(SEARCH_FIELDS, name) ? SEARCH_FIELDS[name] : undefined;
    if (parameter !== undefined) fields[parameter] = value;
    return parameter === undefined;
  });
  return Object.keys(fields).length === 0 ? asked : { ...fields, ...asked, q: words.join(" ") };
}

/** An event type, or an organization's id. */
export const nameSchema = z.string().max(LONGEST_NAME_CHARACTERS);

/** Faults as they are written everywhere: `NAME`, or `NAME:N` for the first N attempts. */
export const faultsSchema = z
  .array(
    nameSchema.transform((text, context): Fault => {
      const parsed = parseFault(text);
      if (parsed.ok) return parsed.fault;
      context.addIssue({ code: "custom", message: parsed.message });
      return z.NEVER;
    }),
  )
  .max(MOST_FAULTS);

/** A page of a list: newest first, from below the item with the id `starting_after`. */
export const pageSchema = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(1_000),
  starting_after: z.string().optional(),
  /** Free text; of nothing but white space it asks for nothing. */
  q: z
    .string()
    .trim()
    .max(LONGEST_QUERY_CHARACTERS)
    .transform((text) => (text === "" ? undefined : text))
    .optional(),
});
