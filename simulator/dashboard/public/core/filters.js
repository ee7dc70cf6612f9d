/** What the list can be narrowed by, each with its name in the control API; empty means not at all. */
const NAMES = { q: "q", endpoint: "endpoint_id", type: "type", state: "state", verdict: "verdict" };

export const NO_FILTERS = Object.fromEntries(Object.keys(NAMES).map((name) => [name, ""]));

/** The filters as the address has them. */
export function readFilters(query) {
  return Object.fromEntries(Object.keys(NAMES).map((name) => [name, query.get(name) ?? ""]));
}

/** The filters as the end of an address: `?state=dead`, or nothing. */
export function filterQuery(filters) {
  const set = Object.entries(filters).filter(([, value]) => value !== "");
  return set.length === 0 ? "" : `?${new URLSearchParams(set)}`;
}

/** The same for the control API: `&state=dead`. */
export function apiQuery(filters) {
  const set = Object.entries(filters).filter(([, value]) => value.trim() !== "");
  return set.map(([name, value]) => `&${NAMES[name]}=${encodeURIComponent(value.trim())}`).join("");
}

export function isFiltered(filters) {
  return Object.values(filters).some((value) => value.trim() !== "");
}

/** Whether a delivery passes what can be told without its payload; a text search is the simulator's to answer. */
export function passes(filters, delivery) {
  const { endpoint, type, state, verdict } = filters;
  return (
    (endpoint === "" || delivery.endpoint_id === endpoint) &&
    (type === "" || delivery.event_type === type) &&
    (state === "" || delivery.state === state) &&
    (verdict === "" || delivery.verdict?.result === verdict)
  );
}
