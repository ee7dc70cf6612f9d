import { html } from "../core/html.js";
import { verdictOf } from "../core/verdict.js";
import { Icon } from "./icon.js";

const ICONS = { ok: "check", not: "cross", unknown: "question", waiting: "clock" };

/** Whether the receiver did right, as a mark at the head of a row; the sentence is its title. */
export function VerdictMark({ delivery }) {
  const { result, sentence } = verdictOf(delivery);
  return html`<span class=${`verdict-mark ${result}`} title=${sentence}
    ><${Icon} name=${ICONS[result]} size=${13} /><span class="visually-hidden">${sentence}</span></span
  >`;
}

/** The verdict in words, and why it matters where it is not right. */
export function VerdictLine({ delivery }) {
  const { result, sentence, why } = verdictOf(delivery);
  return html`<div class=${`verdict-line ${result}`} role="status">
    <span class=${`verdict-mark ${result}`} aria-hidden="true"
      ><${Icon} name=${ICONS[result]} size=${14}
    /></span>
    <div>
      <p class="verdict-sentence">${sentence}</p>
      ${why && html`<p class="verdict-why">${why}</p>`}
    </div>
  </div>`;
}
