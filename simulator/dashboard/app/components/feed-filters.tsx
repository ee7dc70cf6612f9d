import type { ComponentChildren, Ref } from "preact";
import { useId, useState } from "preact/hooks";
import { type Filter, type Filters as FilterValues, PERIODS, SEARCH_FIELDS } from "../core/filters.ts";
import { numberOf } from "../core/format.ts";
import { endpointChoices, eventTypes, useLive } from "../core/live.ts";
import type { StateCounts } from "../core/types.ts";
import { STATE_TITLES, STATE_WORDS } from "../core/words.ts";
import { Select } from "./field.tsx";
import { Icon } from "./icon.tsx";

const LOST_TITLE = "Gave up, and was not sent again since (state lost).";

export type FilterProps = { filters: FilterValues; onChange: (filters: FilterValues) => void };

type FiltersProps = FilterProps & {
  searchRef: Ref<HTMLInputElement>;
  isPaused: boolean;
  onPause: () => void;
  onView: () => void;
};

/** What is searched for, of which type, at which endpoint, created when. */
export function Filters({ filters, onChange, searchRef, isPaused, onPause, onView }: FiltersProps) {
  useLive();
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
      {select("endpoint", "Endpoint", endpointChoices())}
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

type StateTabsProps = FilterProps & { within: StateCounts | undefined; children?: ComponentChildren };

/** The states with how many deliveries are in each; what gave up counts until it was sent again, and is lost until then. */
export function StateTabs({ filters, onChange, within, children }: StateTabsProps) {
  const { attempting = 0, delivered = 0, dead = 0 } = within?.deliveries ?? {};
  const { lost = 0 } = within ?? {};
  const tabs: [state: string, words: string, count: number, title?: string][] = [
    ["", "All", attempting + delivered + dead],
    ["attempting", STATE_WORDS.attempting, attempting, STATE_TITLES.attempting],
    ["delivered", STATE_WORDS.delivered, delivered, STATE_TITLES.delivered],
    ["lost", lost === dead ? STATE_WORDS.dead : "Still lost", lost, LOST_TITLE],
  ];
  return (
    <div class="state-tabs flex" role="group" aria-label="Deliveries by state">
      {tabs.map(([state, words, count, title]) => (
        <button
          type="button"
          key={state}
          class="choice edge"
          title={title}
          aria-pressed={filters.state === state}
          onClick={() => onChange({ ...filters, state })}
        >
          {words} <b class="faint">{within && numberOf(count)}</b>
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
