import { useState } from "preact/hooks";
import { control } from "../core/api.ts";
import { apiQuery, type Filters } from "../core/filters.ts";
import { live, useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import type { DeliveryCount, VerdictResult } from "../core/types.ts";
import { type Sums, sumsOf } from "../core/sums.ts";
import { numberOf, STATES } from "../core/words.ts";
import { Button, type Choice, Segments } from "./button.tsx";
import { CAUSES } from "../../../domain/causes.ts";
import type { FilterProps } from "./feed-filters.tsx";

/** Some counts need a look at each delivery, which takes the simulator some time. */
const AGAIN_AFTER_MS = 1_500;

/** How many deliveries pass the filters, counted anew as deliveries change; undefined until it is known. */
export function useSums(filters: Filters): Sums | undefined {
  const { state, verdict, cause, ...others } = filters;
  const isPlain = Object.hasOwn(STATES, state) || state === "";
  const ofAll = useCount(others);
  // Lost and failing are not states, so they are counted separately.
  const ofState = useCount(isPlain ? others : { ...others, state });
  if (ofAll === undefined || ofState === undefined) return undefined;
  const wanted = { state: isPlain ? state : "", verdict, cause };
  return sumsOf(ofAll.endings, ofState.endings, wanted);
}

function useCount(filters: Partial<Filters>): DeliveryCount | undefined {
  const { clockChanges: again } = useLive();
  const path = `/counts${apiQuery(filters).replace("&", "?")}` as const;
  return useLoaded(path, () => control.get(path), { again, afterMs: AGAIN_AFTER_MS }).value;
}

type SumProps = FilterProps & { sums: Sums | undefined };

/** The states with how many deliveries are in each: together they are all that pass the other filters. */
export function StateTabs({ filters, onChange, sums }: SumProps) {
  const counts = sums?.by("state");
  const all = counts?.values().reduce((total, count) => total + count, 0) ?? 0;
  const tab = (words: string, n: number) => [words, " ", <b class="faint">{counts && numberOf(n)}</b>];
  const states = (["attempting", "delivered", "dead"] as const).map((state): Choice => {
    const [words, title] = STATES[state];
    return [state, tab(words, counts?.get(state) ?? 0), title];
  });
  const lost: Choice = ["lost", "Still lost", "Gave up, and not sent again since (state lost)"];
  const isDead = filters.state === "lost" || filters.state === "dead";
  return (
    <Segments
      className="state-tabs flex"
      label="Deliveries by state"
      value={filters.state}
      options={[["", tab("All", all)], ...states, ...(isDead ? [lost] : [])]}
      onChange={(state) => onChange({ ...filters, state })}
    />
  );
}

/** The results of a verdict in their order, with their words. */
const RESULTS: [result: VerdictResult, words: string][] = [
  ["ok", "right"],
  ["not", "not right"],
  ["unknown", "undecidable"],
  ["waiting", "too early to tell"],
];

/** Did the receiver do right? What passes the filters summed up in a line; each part narrows the list to its own. */
export function VerdictSum({ filters, onChange, sums }: SumProps) {
  const counts = sums?.by("verdict");
  if (counts === undefined || counts.size === 0) return null;
  const { verdict: chosen } = filters;
  const shown = RESULTS.filter(([result]) => counts.has(result) || chosen === result);
  return (
    <>
      <Segments
        className="verdict-sum flex"
        label="Verdicts"
        value={chosen}
        options={shown.map(([result, words]) => [result, counted(counts.get(result), words), "", result])}
        onChange={(verdict) => onChange({ ...filters, verdict: verdict === chosen ? "" : verdict })}
      />
      {live.clock?.verdicts.is_observed === false && (
        <span
          class="side-note one-line faint"
          title="Start with --observe 'http://localhost:3001/inbox/{id}': the simulator then asks your receiver how often it handled each event."
        >
          judged by answers only; <code>--observe</code> shows what was handled
        </span>
      )}
    </>
  );
}

const counted = (count = 0, words: string) => [<b>{numberOf(count)}</b>, ` ${words}`];

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
  const more = causes.length - shown.length;
  const known = causeOf(chosen);
  return (
    <div class="cause-sum">
      <Segments
        className="flex wraps"
        label="Failures by cause"
        value={chosen}
        options={shown.map(([cause, count]) => {
          return [cause, counted(count, causeOf(cause)?.words ?? cause), "", "not"];
        })}
        onChange={(cause) => onChange({ ...filters, cause: cause === chosen ? "" : cause })}
      />
      {more > 0 && <Button kind="quiet small" onClick={() => showAll(true)} words={`${more} more`} />}
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
