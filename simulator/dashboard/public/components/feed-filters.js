import { useState } from "preact/hooks";
import { numberOf } from "../core/format.js";
import { html } from "../core/html.js";
import { eventTypes, useLive } from "../core/live.js";
import { placeOf, STATE_TITLES } from "../core/words.js";
import { Icon } from "./icon.js";

const STATES = [
  ["", "All"],
  ["attempting", "In progress"],
  ["delivered", "Delivered"],
  ["dead", "Gave up"],
];

/** What is searched for, of which type, at which endpoint. */
export function Filters({ filters, onChange, searchRef, isPaused, onPause }) {
  const { endpoints } = useLive();
  const [isOpen, setOpen] = useState(false);
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
  return html`<div class=${`filters ${isOpen ? "open" : ""}`} role="search">
    <label class="search"
      ><${Icon} name="search" size=${15} /><span class="visually-hidden">Search deliveries</span>
      <input
        ref=${searchRef}
        type="search"
        placeholder="Search ids, addresses, payloads…"
        value=${filters.q}
        onInput=${set("q")}
        onKeyDown=${leaveOnEscape}
      /><kbd>/</kbd>
    </label>
    <button
      type="button"
      class="icon-button filters-toggle"
      aria-expanded=${String(isOpen)}
      aria-label="More filters"
      onClick=${() => setOpen(!isOpen)}
    >
      <${Icon} name="filter" size=${16} />
    </button>
    ${select(
      "type",
      "Type",
      eventTypes().map((type) => [type, type]),
    )}
    ${select(
      "endpoint",
      "Endpoint",
      [...(endpoints?.values() ?? [])].map((endpoint) => [endpoint.id, placeOf(endpoint.url)]),
    )}
    <button
      type="button"
      class="icon-button"
      aria-pressed=${String(isPaused)}
      aria-label=${isPaused ? "Go on" : "Pause"}
      onClick=${onPause}
      title=${isPaused ? "Go on (p)" : "Pause (p)"}
    >
      <${Icon} name=${isPaused ? "play" : "pause"} size=${15} />
    </button>
  </div>`;
}

/** The states with how many deliveries are in each. */
export function StateTabs({ filters, onChange, children }) {
  const { clock } = useLive();
  const counts = clock?.deliveries;
  const all = counts && counts.attempting + counts.delivered + counts.dead;
  return html`<div class="state-tabs" role="group" aria-label="Deliveries by state">
    ${STATES.map(
      ([state, words]) =>
        html`<button
          type="button"
          key=${state}
          class=${state}
          title=${STATE_TITLES[state]}
          aria-pressed=${String(filters.state === state)}
          onClick=${() => onChange({ ...filters, state })}
        >
          ${words} <b>${counts ? numberOf(state === "" ? all : counts[state]) : ""}</b>
        </button>`,
    )}
    <span class="spacer"></span>
    ${children}
  </div>`;
}

function leaveOnEscape(event) {
  if (event.key === "Escape") event.currentTarget.blur();
}
