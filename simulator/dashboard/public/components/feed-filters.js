import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { currentRoute, navigate } from "../core/route.js";
import { Icon } from "./icon.js";

const TYPES = ["call.completed", "call.transferred", "voicemail.created", "order.created", "booking.created"];
const STATES = ["attempting", "delivered", "dead"];
const NAMES = ["text", "endpoint", "type", "state"];

/** The filters as the address has them; empty means no filter. */
export function readFilters(query) {
  return Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ""]));
}

/** Puts them into the address, so that a filtered list can be kept and shared. */
export function writeFilters(filters) {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""));
  const { path } = currentRoute();
  navigate(query.size === 0 ? path : `${path}?${query}`, { replace: true });
}

/** Which rows the filters let through. */
export function filterOf({ text, endpoint, type, state }, endpointOf) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ delivery, event }) => {
    if (delivery === undefined) {
      if (endpoint !== "" || state !== "" || (type !== "" && event.type !== type)) return false;
      return words.every((word) => `${event.id} ${event.type}`.includes(word));
    }
    if (endpoint !== "" && delivery.endpoint_id !== endpoint) return false;
    if (type !== "" && delivery.event_type !== type) return false;
    if (state !== "" && delivery.state !== state) return false;
    return words.length === 0 || matches(delivery, words, endpointOf(delivery.endpoint_id)?.url);
  };
}

function matches(delivery, words, url = "") {
  const { id, event_id: eventId, event_type: type, org_id: orgId, state, faults, attempts } = delivery;
  const outcomes = attempts.map((attempt) => attempt.http_status ?? attempt.error ?? "");
  const text = [id, eventId, type, orgId, state, url, ...faults, ...outcomes].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The bar above the list. */
export function Filters({ filters, onChange, searchRef, isPaused, onPause }) {
  const { endpoints } = useLive();
  const set = (name) => (event) => onChange({ ...filters, [name]: event.currentTarget.value });
  const select = (name, label, options) =>
    html`<select
      aria-label=${label}
      value=${filters[name]}
      class=${filters[name] === "" ? "" : "active"}
      onChange=${set(name)}
    >
      <option value="">${label}: all</option>
      ${options.map(([value, words]) => html`<option key=${value} value=${value} selected=${value === filters[name]}>${words}</option>`)}
    </select>`;
  return html`<div class="filters" role="search">
    <label class="search"
      ><${Icon} name="search" size=${16} /><span class="visually-hidden">Search deliveries</span>
      <input
        ref=${searchRef}
        type="search"
        placeholder="Search id, URL, status, error…"
        value=${filters.text}
        onInput=${set("text")}
        onKeyDown=${leaveOnEscape}
      /><kbd>/</kbd>
    </label>
    ${select(
      "type",
      "Type",
      TYPES.map((type) => [type, type]),
    )}
    ${select(
      "endpoint",
      "Endpoint",
      [...(endpoints?.values() ?? [])].map((endpoint) => [endpoint.id, endpoint.url]),
    )}
    ${select(
      "state",
      "State",
      STATES.map((state) => [state, state]),
    )}
    <button
      type="button"
      class="button"
      aria-pressed=${String(isPaused)}
      onClick=${onPause}
      title="Pause (p)"
    >
      <${Icon} name=${isPaused ? "play" : "pause"} size=${15} />${isPaused ? "Go on" : "Pause"}
    </button>
  </div>`;
}

function leaveOnEscape(event) {
  if (event.key === "Escape") event.currentTarget.blur();
}
