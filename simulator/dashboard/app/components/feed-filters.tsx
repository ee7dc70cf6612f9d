import type { ComponentChildren, Ref } from "preact";
import type { StateCounts } from "../core/types.ts";
import type { DeliveryState } from "../core/types.ts";
import { type Filter, type Filters as FilterValues, SEARCH_FIELDS } from "../core/filters.ts";
import { useId, useState } from "preact/hooks";
import { numberOf } from "../core/format.ts";
import { eventTypes, useLive } from "../core/live.ts";
import { LOST_TITLE, placeOf, STATE_TITLES } from "../core/words.ts";
import { Select } from "./field.tsx";
import { Icon } from "./icon.tsx";

export type FilterProps = { filters: FilterValues; onChange: (filters: FilterValues) => void };

const STATES: [state: DeliveryState | "lost" | "", words: string][] = [
  ["", "All"],
  ["attempting", "In progress"],
  ["delivered", "Delivered"],
  ["dead", "Gave up"],
  ["lost", "Still lost"],
];

const PERIODS: [since: string, words: string][] = [
  ["15m", "the last 15 minutes"],
  ["1h", "the last hour"],
  ["24h", "the last 24 hours"],
  ["7d", "the last 7 days"],
];

/** What is searched for, of which type, at which endpoint, created when. */
export function Filters({
  filters,
  onChange,
  searchRef,
  isPaused,
  onPause,
  onView,
}: FilterProps & {
  searchRef: Ref<HTMLInputElement>;
  isPaused: boolean;
  onPause: () => void;
  onView: () => void;
}) {
  const { endpoints } = useLive();
  const offersId = useId();
  const periods = PERIODS.some(([since]) => since === filters.since)
    ? PERIODS
    : [...PERIODS, [filters.since, "a time of the chart"] as const].filter(([since]) => since !== "");
  const [isOpen, setOpen] = useState(false);
  const select = (
    name: Filter,
    label: string,
    options: readonly (readonly [value: string, words: string])[],
    onSelect = (value: string) => onChange({ ...filters, [name]: value }),
  ) => (
    <Select
      aria-label={label}
      class={filters[name] === "" ? "" : "active"}
      value={filters[name]}
      options={[["", `${label}: all`], ...options]}
      onChange={onSelect}
    />
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
          list={offersId}
          autocomplete="off"
          value={filters.q}
          onInput={(event) => onChange({ ...filters, q: event.currentTarget.value })}
          onKeyDown={leaveOnEscape}
        />
        <kbd>/</kbd>
        <datalist id={offersId}>
          {offersFor(filters.q).map((offer) => (
            <option key={offer} value={offer} />
          ))}
        </datalist>
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
      {select("since", "Time", periods, (since) => onChange({ ...filters, since, until: "" }))}
      <button
        type="button"
        class="icon-button"
        aria-label="What the list shows"
        title="What the list shows"
        onClick={onView}
      >
        <Icon name="readings" size={15} />
      </button>
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

/** What could follow what is typed, such as the fields of a search and their values. */
function offersFor(q: string): string[] {
  const before = q.replace(/\S*$/, "");
  const word = q.slice(before.length);
  const [name = "", value] = word.split(":");
  if (value === undefined)
    return Object.keys(SEARCH_FIELDS)
      .filter((field) => field.startsWith(name))
      .map((field) => `${before}${field}:`);
  const values = name === "type" ? eventTypes() : (SEARCH_FIELDS[name] ?? []);
  return values.filter((one) => one.startsWith(value)).map((one) => `${before}${name}:${one}`);
}

/** The states with how many deliveries are in each, of the period `within` which `counts` are, or of all. */
export function StateTabs({
  filters,
  onChange,
  within,
  children,
}: FilterProps & { within: StateCounts | undefined; children?: ComponentChildren }) {
  const { clock } = useLive();
  const counts = clock && { ...(within ?? clock.deliveries), lost: clock.lost };
  const countOf = (state: DeliveryState | "lost" | "") => {
    if (counts === undefined) return "";
    return numberOf(state === "" ? counts.attempting + counts.delivered + counts.dead : counts[state]);
  };
  // What gave up is all lost, or some of it is not.
  const states = STATES.filter(
    ([state]) =>
      state !== "lost" || filters.state === "lost" || (clock && clock.lost !== clock.deliveries.dead),
  );
  return (
    <div class="state-tabs flex" role="group" aria-label="Deliveries by state">
      {states.map(([state, words]) => (
        <button
          type="button"
          key={state}
          class={`choice edge ${state}`}
          title={state === "" ? undefined : state === "lost" ? LOST_TITLE : STATE_TITLES[state]}
          aria-pressed={filters.state === state}
          onClick={() => onChange({ ...filters, state })}
        >
          {words} <b class="faint">{state === "lost" && within ? "" : countOf(state)}</b>
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
