import { numberOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { RESULT_WORDS, verdictCounts } from "../core/verdict.js";
import { placeOf } from "../core/words.js";
import { Icon } from "./icon.js";

/** Did the receiver do right? All deliveries summed up in a line; each part of it narrows the list to its own. */
export function VerdictSum({ filters, onChange }) {
  const { clock, endpoints } = useLive();
  const counts = verdictCounts(filters.endpoint);
  const judged = counts.ok + counts.not + counts.unknown;
  if (judged === 0) return null;
  const who = filters.endpoint === "" && endpoints?.size === 1 ? [...endpoints.keys()][0] : filters.endpoint;
  const part = (result) =>
    counts[result] > 0 &&
    html`<button
      type="button"
      class=${`verdict-part ${result}`}
      aria-pressed=${String(filters.verdict === result)}
      onClick=${() => onChange({ ...filters, verdict: filters.verdict === result ? "" : result })}
    >
      <b>${numberOf(counts[result])}</b> ${RESULT_WORDS[result].toLowerCase()}
    </button>`;
  return html`<div class=${`verdict-sum ${counts.not > 0 ? "not" : "ok"}`} role="group" aria-label="Verdicts">
    <span class=${`verdict-mark ${counts.not > 0 ? "not" : "ok"}`} aria-hidden="true"
      ><${Icon} name=${counts.not > 0 ? "cross" : "check"} size=${13}
    /></span>
    <span class="verdict-who foreign"
      >${placeOf(endpoints?.get(who)?.url) === "endpoint deleted" ? "Receivers" : placeOf(endpoints.get(who).url)}</span
    >
    ${part("ok")}${part("not")}${part("unknown")}
    <span class="verdict-meant">${meantWords(counts, clock.verdicts.is_observed)}</span>
    ${
      !clock.verdicts.is_observed &&
      html`<span
        class="verdict-hint"
        title="Start with --observe 'http://localhost:3001/inbox/{id}', and the simulator asks your receiver how often it handled each event."
        >by answers alone; <code>--observe</code> shows what was done</span
      >`
    }
  </div>`;
}

/** What those that are right were meant as; beside others that are not, it says that it is about the right ones. */
function meantWords({ meant, not }, isObserved) {
  if (meant.length === 0) return "";
  if (not > 0) return `Right: ${meant.join(", ")}`;
  return `${meant.join(", ")}${isObserved ? ": each handled as it should be" : ""}`;
}
