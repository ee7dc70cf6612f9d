import type { ComponentChildren, Ref } from "preact";
import { useId, useState } from "preact/hooks";
import { type Filter, type Filters as FilterValues, PERIODS, SEARCH_FIELDS } from "../core/filters.ts";
import { endpointChoices, eventTypes, useLive } from "../core/live.ts";
import type { StateCounts } from "../core/types.ts";
import { numberOf, STATE_TITLES, STATE_WORDS } from "../core/words.ts";
import { IconButton } from "./button.tsx";
import { Select } from "./field.tsx";
import { Icon } from "./icon.tsx";

const LOST_TITLE = "Gave up, and was not sent again since (state lost).";

export type FilterProps = { filters: FilterValues; onChange: (filters: FilterValues) => void };
type BarProps = FilterProps & {
  searchRef: Ref<HTMLInputElement>;
  isPaused: boolean;
  onPause: () => void;
  onView: () => void;
};

/** What is searched for, of which type, at which endpoint, created when. */
export function Filters({ filters, onChange, searchRef, isPaused, onPause, onView }: BarProps) {
  useLive();
  const offersId = useId();
  const [isOpen, setOpen] = useState(false);
  const periods = PERIODS.some(([since]) => since === filters.since)
    ? PERIODS
    : [...PERIODS, [filters.since, "a time of the chart"] as const].filter(([since]) => since !== "");
  const selects: [
    name: Filter,
    label: string,
    options: readonly (readonly [value: string, words: string])[],
  ][] = [
    ["type", "Type", eventTypes().map((type) => [type, type])],
    ["endpoint", "Endpoint", endpointChoices()],
    ["since", "Time", periods],
  ];
  return (
    <div class={`filters ${isOpen ? "unfolded" : ""}`} role="search">
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
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
        <kbd>/</kbd>
        <datalist id={offersId}>
          {offersFor(filters.q).map((offer) => (
            <option key={offer} value={offer} />
          ))}
        </datalist>
      </label>
      <IconButton
        icon="filter"
        size={16}
        kind="filters-toggle"
        label="More filters"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      {selects.map(([name, label, options]) => (
        <Select
          key={name}
          aria-label={label}
          class={filters[name] === "" ? "" : "active"}
          value={filters[name]}
          options={[["", `${label}: all`], ...options]}
          onChange={(value) =>
            onChange({ ...filters, ...(name === "since" && { until: "" }), [name]: value })
          }
        />
      ))}
      <IconButton icon="readings" label="What the list shows" title="What the list shows" onClick={onView} />
      <IconButton
        icon={isPaused ? "play" : "pause"}
        label={isPaused ? "Go on" : "Pause"}
        title={isPaused ? "Go on (p)" : "Pause (p)"}
        aria-pressed={isPaused}
        onClick={onPause}
      />
    </div>
  );
}

/** What could follow what is typed, such as the fields of a search and their values. */
function offersFor(q: string): string[] {
  const before = q.replace(/\S*$/, "");
  const [name = "", value] = q.slice(before.length).split(":");
  const values = name === "type" ? eventTypes() : (SEARCH_FIELDS[name] ?? []);
  const words =
    value === undefined
      ? Object.keys(SEARCH_FIELDS).map((field) => `${field}:`)
      : values.map((one) => `${name}:${one}`);
  return words.filter((word) => word.startsWith(q.slice(before.length))).map((word) => before + word);
}

type TabProps = FilterProps & { within: StateCounts | undefined; children?: ComponentChildren };

/** The states with how many deliveries are in each; what gave up counts until it was sent again, and is lost until then. */
export function StateTabs({ filters, onChange, within, children }: TabProps) {
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
