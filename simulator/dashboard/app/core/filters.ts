import type { Delivery } from "./types.ts";

export type Filter = "q" | "endpoint" | "type" | "state" | "verdict";
export type Filters = Record<Filter, string>;

const FILTERS: Filter[] = ["q", "endpoint", "type", "state", "verdict"];

/** What the list can be narrowed by, each with its name in the control API; empty means not at all. */
const NAMES: Record<Filter, string> = {
  q: "q",
  endpoint: "endpoint_id",
  type: "type",
  state: "state",
  verdict: "verdict",
};

export const NO_FILTERS: Filters = { q: "", endpoint: "", type: "", state: "", verdict: "" };

/** The filters as the address has them. */
export function readFilters(query: URLSearchParams): Filters {
  const filters = { ...NO_FILTERS };
  for (const name of FILTERS) filters[name] = query.get(name) ?? "";
  return filters;
}

/** The filters as the end of an address: `?state=dead`, or nothing. */
export function filterQuery(filters: Filters): string {
  const set = Object.entries(filters).filter(([, value]) => value !== "");
  return set.length === 0 ? "" : `?${new URLSearchParams(set).toString()}`;
}

/** The same for the control API: `&state=dead`. */
export function apiQuery(filters: Partial<Filters>): string {
  const set = FILTERS.map((name) => [NAMES[name], (filters[name] ?? "").trim()] as const);
  return set.map(([name, value]) => (value === "" ? "" : `&${name}=${encodeURIComponent(value)}`)).join("");
}

export function isFiltered(filters: Filters): boolean {
  return Object.values(filters).some((value) => value.trim() !== "");
}

/** Whether a delivery passes what can be told without its payload; a text search is the simulator's to answer. */
export function passes(filters: Filters, delivery: Delivery): boolean {
  const { endpoint, type, state, verdict } = filters;
  return (
    (endpoint === "" || delivery.endpoint_id === endpoint) &&
    (type === "" || delivery.event_type === type) &&
    passesState(state, delivery) &&
    (verdict === "" || delivery.verdict.result === verdict)
  );
}

/** `lost`: gave up, and nothing later brought it. `failed`: gave up, or was tried in vain and is tried again. */
function passesState(state: string, { state: own, attempts, recovered_by: recoveredBy }: Delivery): boolean {
  if (state === "lost") return own === "dead" && recoveredBy === null;
  if (state === "failed")
    return own === "dead" || (own === "attempting" && Boolean(attempts.at(-1)?.ended_at));
  return state === "" || own === state;
}
