import { useLive } from "../core/live.ts";
import type { Delivery } from "../core/types.ts";
import { numberOf, placeOf } from "../core/words.ts";
import type { FilterProps } from "./feed-filters.tsx";
import { Icon } from "./icon.tsx";

/** The results that are summed up, in their order, with their words. */
const RESULTS = [
  ["ok", "right"],
  ["not", "not right"],
  ["unknown", "nobody can tell"],
] as const;
/** What a delivery can be meant as, in words that count more than one, where they are others. */
const MEANT = [
  "honest",
  "duplicate",
  "forged",
  "answer_lost",
  "cut_off",
  "unfamiliar",
  "slow",
] as const satisfies Meant[];
const MANY: Partial<Record<Meant, string>> = { duplicate: "duplicates", answer_lost: "answers lost" };
type Meant = Delivery["verdict"]["meant"];

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

  const meant = MEANT.flatMap((one) => {
    const count = sum(own.filter((counted) => counted.result === "ok" && counted.meant === one));
    const words = (count > 1 && MANY[one]) || one.replace("_", " ");
    return count === 0 ? [] : [`${numberOf(count)} ${words}`];
  }).join(", ");
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
      <span class="who one-line foreign">{url === undefined ? "Receivers" : placeOf(url)}</span>
      {counts.map(({ result, words, count }) => (
        <button
          type="button"
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
