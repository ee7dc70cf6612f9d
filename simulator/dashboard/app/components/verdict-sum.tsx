import { numberOf } from "../core/format.ts";
import { useLive } from "../core/live.ts";
import type { VerdictResult } from "../core/types.ts";
import { RESULT_WORDS, type VerdictCounts, verdictCounts } from "../core/verdict.ts";
import { placeOf } from "../core/words.ts";
import type { FilterProps } from "./feed-filters.tsx";
import { Icon } from "./icon.tsx";

/** Did the receiver do right? All deliveries summed up in a line; each part of it narrows the list to its own. */
export function VerdictSum({ filters, onChange }: FilterProps) {
  const { clock, endpoints } = useLive();
  const counts = verdictCounts(filters.endpoint);
  const judged = counts.ok + counts.not + counts.unknown;
  if (clock === undefined || judged === 0) return null;
  const who = filters.endpoint === "" && endpoints?.size === 1 ? [...endpoints.keys()][0] : filters.endpoint;
  const url = endpoints?.get(who ?? "")?.url;
  const part = (result: VerdictResult) =>
    counts[result] > 0 && (
      <button
        type="button"
        class={`verdict-part choice edge ${result}`}
        aria-pressed={filters.verdict === result}
        onClick={() => onChange({ ...filters, verdict: filters.verdict === result ? "" : result })}
      >
        <b>{numberOf(counts[result])}</b> {RESULT_WORDS[result].toLowerCase()}
      </button>
    );
  return (
    <div class={`verdict-sum flex ${counts.not > 0 ? "not" : "ok"}`} role="group" aria-label="Verdicts">
      <span class={`verdict-mark disc ${counts.not > 0 ? "not" : "ok"}`} aria-hidden="true">
        <Icon name={counts.not > 0 ? "cross" : "check"} size={13} />
      </span>
      <span class="verdict-who one-line foreign">{url === undefined ? "Receivers" : placeOf(url)}</span>
      {part("ok")}
      {part("not")}
      {part("unknown")}
      <span class="verdict-meant one-line faint">{meantWords(counts, clock.verdicts.is_observed)}</span>
      {!clock.verdicts.is_observed && (
        <span
          class="verdict-hint one-line faint"
          title="Start with --observe 'http://localhost:3001/inbox/{id}', and the simulator asks your receiver how often it handled each event."
        >
          by answers alone; <code>--observe</code> shows what was done
        </span>
      )}
    </div>
  );
}

/** What those that are right were meant as; beside others that are not, it says that it is about the right ones. */
function meantWords({ meant, not }: VerdictCounts, isObserved: boolean): string {
  if (meant.length === 0) return "";
  if (not > 0) return `Right: ${meant.join(", ")}`;
  return `${meant.join(", ")}${isObserved ? ": each handled as it should be" : ""}`;
}
