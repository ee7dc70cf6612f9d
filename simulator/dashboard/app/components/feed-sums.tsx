import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { apiQuery, type Filters } from "../core/filters.ts";
import { live, useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import type { DeliveryCount, DeliveryState, VerdictResult } from "../core/types.ts";
import { type Sums, sumsOf } from "../core/sums.ts";
import { numberOf, STATES } from "../core/words.ts";
import { roam } from "./button.tsx";
import { CAUSES } from "../../../domain/causes.ts";
import type { FilterProps } from "./feed-filters.tsx";

/** Counting what only a look at each delivery can tell takes the simulator some time. */
const AGAIN_AFTER_MS = 1_500;

/** How many deliveries pass the filters, counted anew as deliveries change; undefined until it is known. */
export function useSums(filters: Filters): Sums | undefined {
  const { state, verdict, cause, ...others } = filters;
  const isPlain = Object.hasOwn(STATES, state) || state === "";
  const ofAll = useCount(others);
  // What is lost, or failed so far, is no state of its own: it is counted by itself.
  const ofState = useCount(isPlain ? others : { ...others, state });
  if (ofAll === undefined || ofState === undefined) return undefined;
  const wanted = { state: isPlain ? state : "", verdict, cause };
  return sumsOf(ofAll.endings, ofState.endings, wanted);
}

function useCount(filters: Partial<Filters>): DeliveryCount | undefined {
  const { told: again } = useLive();
  const path = `/counts${apiQuery(filters).replace("&", "?")}` as const;
  return useLoaded(path, () => control.get(path), { again, afterMs: AGAIN_AFTER_MS }).value;
}

type SumProps = FilterProps & { sums: Sums | undefined };

/** The states with how many deliveries are in each: together they are all that pass the other filters. */
export function StateTabs({ filters, onChange, sums }: SumProps) {
  const counts = sums?.by("state");
  const all = counts?.values().reduce((total, count) => total + count, 0);
  const states: DeliveryState[] = ["attempting", "delivered", "dead"];
  const tabs: [state: string, words: string, count: number | undefined, title?: string][] = [
    ["", "All", all],
    ...states.map((state): [string, string, number, string] => [
      state,
      STATES[state][0],
      counts?.get(state) ?? 0,
      STATES[state][1],
    ]),
  ];
  const isLost = filters.state === "lost";
  return (
    <div class="state-tabs flex" role="group" aria-label="Deliveries by state" onKeyDown={roam}>
      {tabs.map(([state, words, count, title]) => (
        <button
          key={state}
          class="choice edge"
          title={title}
          tabindex={filters.state === state ? 0 : -1}
          aria-pressed={filters.state === state || (state === "dead" && isLost)}
          onClick={() => onChange({ ...filters, state })}
        >
          {words} <b class="faint">{count !== undefined && counts && numberOf(count)}</b>
        </button>
      ))}
      {(isLost || filters.state === "dead") && (
        <button
          class="choice edge"
          title="Gave up, and was not sent again since (state lost)"
          aria-pressed={isLost}
          onClick={() => onChange({ ...filters, state: isLost ? "dead" : "lost" })}
        >
          Still lost
        </button>
      )}
    </div>
  );
}

/** The results of a verdict in their order, with their words. */
const RESULTS: [result: VerdictResult, words: string][] = [
  ["ok", "right"],
  ["not", "not right"],
  ["unknown", "nobody can tell"],
  ["waiting", "too early to tell"],
];

/** Did the receiver do right? What passes the filters summed up in a line; each part narrows the list to its own. */
export function VerdictSum({ filters, onChange, sums }: SumProps) {
  const counts = sums?.by("verdict");
  if (counts === undefined || counts.size === 0) return null;
  return (
    <div class="verdict-sum flex" role="group" aria-label="Verdicts" onKeyDown={roam}>
      {RESULTS.filter(([result]) => counts.has(result) || filters.verdict === result).map(
        ([result, words], index) => (
          <button
            key={result}
            class={`verdict-part choice edge ${result}`}
            tabindex={index === 0 ? 0 : -1}
            aria-pressed={filters.verdict === result}
            onClick={() => onChange({ ...filters, verdict: filters.verdict === result ? "" : result })}
          >
            <b>{numberOf(counts.get(result) ?? 0)}</b> {words}
          </button>
        ),
      )}
      {live.clock?.verdicts.is_observed === false && (
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

const MOST_SHOWN = 4;

/** Why deliveries failed, the most frequent cause first: one that is pressed opens its own, and says what to do. */
export function CauseSum({ filters, onChange, sums }: SumProps) {
  const [showsAll, showAll] = useState(false);
  const causes = [...(sums?.by("cause") ?? [])]
    .filter(([cause]) => cause !== "")
    .toSorted(([, a], [, b]) => b - a);
  if (causes.length === 0) return null;
  const { cause: chosen } = filters;
  const shown = showsAll ? causes : causes.filter(([cause], index) => index < MOST_SHOWN || cause === chosen);
  const known = causeOf(chosen);
  return (
    <div class="cause-sum" role="group" aria-label="Failures by cause" onKeyDown={roam}>
      <div class="flex wraps">
        {shown.map(([cause, count], index) => (
          <button
            key={cause}
            class="choice edge not"
            tabindex={index === 0 ? 0 : -1}
            aria-pressed={cause === chosen}
            onClick={() => onChange({ ...filters, cause: cause === chosen ? "" : cause })}
          >
            <b>{numberOf(count)}</b> {causeOf(cause)?.words ?? cause}
          </button>
        ))}
        {causes.length > shown.length && (
          <button class="choice edge" onClick={() => showAll(true)}>
            {causes.length - shown.length} more
          </button>
        )}
      </div>
      {known && (
        <p class="muted">
          <b>To do:</b> {known.fix}
        </p>
      )}
    </div>
  );
}

function causeOf(name: string): { words: string; fix: string } | undefined {
  return new Map(Object.entries(CAUSES)).get(name);
}
