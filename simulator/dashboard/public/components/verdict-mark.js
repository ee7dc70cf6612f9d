import { html } from "../core/html.js";
import { Marked } from "./marked.js";
import { Icon } from "./icon.js";

const ICONS = { ok: "check", not: "cross", unknown: "question", waiting: "clock" };

/** Whether the receiver did right, as a mark at the head of a row; the sentence is its title. */
export function VerdictMark({ delivery }) {
  const { result, sentence } = delivery.verdict;
  return html`<span class=${`verdict-mark ${result}`} title=${sentence}
    ><${Icon} name=${ICONS[result]} size=${13} /><span class="visually-hidden">${sentence}</span></span
  >`;
}

/** The verdict in words, and why it matters where it is not right. */
export function VerdictLine({ delivery }) {
  const { result, sentence, why } = delivery.verdict;
  return html`<div class=${`verdict-line ${result}`} role="status">
    <span class=${`verdict-mark ${result}`} aria-hidden="true"
      ><${Icon} name=${ICONS[result]} size=${14}
    /></span>
    <div>
      <p class="verdict-sentence">${sentence}</p>
      ${why && html`<p class="verdict-why"><${Marked} text=${why} /></p>`}
      ${delivery.handling && html`<p class="verdict-why">${handlingWords(delivery.handling)}</p>`}
    </div>
  </div>`;
}

function handlingWords({ handled, duplicates, state }) {
  const times = ["never", "once", "twice"][handled] ?? `${handled} times`;
  const seen = duplicates > 0 ? `, ${duplicates} ${duplicates === 1 ? "duplicate" : "duplicates"} seen` : "";
  return `The receiver says: ${state ? `${state}, ` : ""}handled ${times}${seen}.`;
}
