import type { ComponentChildren, Ref } from "preact";
import { useId, useState } from "preact/hooks";
import { type Filter, type Filters as FilterValues, PERIODS, SEARCH_FIELDS } from "../core/filters.ts";
import { endpointChoices, eventTypes, useLive } from "../core/live.ts";
import type { Delivery, StateCounts } from "../core/types.ts";
import { numberOf, placeOf, STATES } from "../core/words.ts";
import { Icon, IconButton } from "./button.tsx";
import { Select } from "./field.tsx";

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
    ["attempting", STATES.attempting[0], attempting, STATES.attempting[1]],
    ["delivered", STATES.delivered[0], delivered, STATES.delivered[1]],
    ["lost", lost === dead ? STATES.dead[0] : "Still lost", lost, LOST_TITLE],
  ];
  return (
    <div class="state-tabs flex" role="group" aria-label="Deliveries by state">
      {tabs.map(([state, words, count, title]) => (
        <button
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

/** The results that are summed up, in their order, with their words. */
const RESULTS = [
  ["ok", "right"],
  ["not", "not right"],
  ["unknown", "nobody can tell"],
] as const;
/** What a delivery can be meant as, in words that count many. */
const MEANT: Record<Delivery["verdict"]["meant"], string> = {
  honest: "honest",
  duplicate: "duplicates",
  forged: "forged",
  answer_lost: "answers lost",
  cut_off: "cut off",
  unfamiliar: "unfamiliar",
  slow: "slow",
};

/** Did the receiver do right? All deliveries summed up in a line; each part of it narrows the list to its own. */
export function VerdictSum({ filters, onChange }: FilterProps) {
  const { clock, endpoints } = useLive();
  const own = (clock?.verdicts.counts ?? []).filter(
    ({ endpoint_id: id }) => filters.endpoint === "" || id === filters.endpoint,
  );
  const sum = (counted: typeof own) => counted.reduce((all, { count }) => all + count, 0);
  const counts = RESULTS.map(([result, words]) => {
    return { result, words, count: sum(own.filter((one) => one.result === result)) };
  }).filter(({ count }) => count > 0);
  if (clock === undefined || counts.length === 0) return null;

  const meant = Object.entries(MEANT)
    .flatMap(([one, many]) => {
      const count = sum(own.filter((counted) => counted.result === "ok" && counted.meant === one));
      const words = count === 1 ? one.replace("_", " ") : many;
      return count === 0 ? [] : [`${numberOf(count)} ${words}`];
    })
    .join(", ");
  const isRight = counts.every(({ result }) => result !== "not");
  const isObserved = clock.verdicts.is_observed;
  const tone = isRight ? "ok" : "not";
  const only = endpoints?.size === 1 ? [...endpoints.keys()][0] : undefined;
  const url = endpoints?.get(filters.endpoint || (only ?? ""))?.url;
  return (
    <div class={`verdict-sum flex ${tone}`} role="group" aria-label="Verdicts">
      <span class={`verdict-mark disc ${tone}`} aria-hidden="true">
        <Icon name={isRight ? "check" : "cross"} size={13} />
      </span>
      <b class="one-line foreign">{url === undefined ? "Receivers" : placeOf(url)}</b>
      {counts.map(({ result, words, count }) => (
        <button
          key={result}
          class={`verdict-part choice edge ${result}`}
          aria-pressed={filters.verdict === result}
          onClick={() => onChange({ ...filters, verdict: filters.verdict === result ? "" : result })}
        >
          <b>{numberOf(count)}</b> {words}
        </button>
      ))}
      <span class="side-note one-line faint">
        {meant !== "" && !isRight && "Right: "}
        {meant}
        {meant !== "" && isRight && isObserved && ": each handled as it should be"}
      </span>
      {!isObserved && (
        <span
          class="side-note one-line faint"
          title="Start with --observe 'http://localhost:3001/inbox/{id}', and the simulator asks your receiver how often it handled each event."
        >
          by answers alone; <code>--observe</code> shows what was done
        </span>
      )}
    </div>
  );
}
