import type { ComponentChildren, Ref } from "preact";
import type { DeliveryState } from "../core/types.ts";
import type { Filter, Filters as FilterValues } from "../core/filters.ts";
import { useState } from "preact/hooks";
import { numberOf } from "../core/format.ts";
import { eventTypes, useLive } from "../core/live.ts";
import { LOST_TITLE, placeOf, STATE_TITLES } from "../core/words.ts";
import { Icon } from "./icon.tsx";

export type FilterProps = { filters: FilterValues; onChange: (filters: FilterValues) => void };

const STATES: [state: DeliveryState | "lost" | "", words: string][] = [
  ["", "All"],
  ["attempting", "In progress"],
  ["delivered", "Delivered"],
  ["dead", "Gave up"],
  ["lost", "Still lost"],
];

/** What is searched for, of which type, at which endpoint. */
export function Filters({
  filters,
  onChange,
  searchRef,
  isPaused,
  onPause,
}: FilterProps & { searchRef: Ref<HTMLInputElement>; isPaused: boolean; onPause: () => void }) {
  const { endpoints } = useLive();
  const [isOpen, setOpen] = useState(false);
  const set = (name: Filter) => (event: { currentTarget: { value: string } }) =>
    onChange({ ...filters, [name]: event.currentTarget.value });
  const select = (name: Filter, label: string, options: [value: string, words: string][]) => (
    <select
      aria-label={label}
      value={filters[name]}
      class={filters[name] === "" ? "" : "active"}
      onChange={set(name)}
    >
      <option value="">{label}: all</option>
      {options.map(([value, words]) => (
        <option key={value} value={value} selected={value === filters[name]}>
          {words}
        </option>
      ))}
    </select>
  );
  return (
    <div class={`filters ${isOpen ? "open" : ""}`} role="search">
      <label class="search">
        <Icon name="search" size={15} />
        <span class="visually-hidden">Search deliveries</span>{" "}
        <input
          ref={searchRef}
          type="search"
          placeholder="Search ids, addresses, payloads…"
          value={filters.q}
          onInput={set("q")}
          onKeyDown={leaveOnEscape}
        />
        <kbd>/</kbd>
      </label>
      <button
        type="button"
        class="icon-button filters-toggle"
        aria-expanded={isOpen}
        aria-label="More filters"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="filter" size={16} />
      </button>
      {select(
        "type",
        "Type",
        eventTypes().map((type) => [type, type]),
      )}
      {select(
        "endpoint",
        "Endpoint",
        [...(endpoints?.values() ?? [])].map((endpoint) => [endpoint.id, placeOf(endpoint.url)]),
      )}
      <button
        type="button"
        class="icon-button"
        aria-pressed={isPaused}
        aria-label={isPaused ? "Go on" : "Pause"}
        onClick={onPause}
        title={isPaused ? "Go on (p)" : "Pause (p)"}
      >
        <Icon name={isPaused ? "play" : "pause"} size={15} />
      </button>
    </div>
  );
}

/** The states with how many deliveries are in each. */
export function StateTabs({ filters, onChange, children }: FilterProps & { children?: ComponentChildren }) {
  const { clock } = useLive();
  const counts = clock && { ...clock.deliveries, lost: clock.lost };
  const countOf = (state: DeliveryState | "lost" | "") => {
    if (counts === undefined) return "";
    return numberOf(state === "" ? counts.attempting + counts.delivered + counts.dead : counts[state]);
  };
  // What gave up is all lost, or some of it is not.
  const states = STATES.filter(
    ([state]) => state !== "lost" || filters.state === "lost" || (counts && counts.lost !== counts.dead),
  );
  return (
    <div class="state-tabs" role="group" aria-label="Deliveries by state">
      {states.map(([state, words]) => (
        <button
          type="button"
          key={state}
          class={state}
          title={state === "" ? undefined : state === "lost" ? LOST_TITLE : STATE_TITLES[state]}
          aria-pressed={filters.state === state}
          onClick={() => onChange({ ...filters, state })}
        >
          {words} <b>{countOf(state)}</b>
        </button>
      ))}
      <span class="spacer" />
      {children}
    </div>
  );
}

function leaveOnEscape(event: KeyboardEvent & { currentTarget: HTMLElement }) {
  if (event.key === "Escape") event.currentTarget.blur();
}
