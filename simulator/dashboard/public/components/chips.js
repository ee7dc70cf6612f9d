import { html } from "../core/html.js";
import { attemptState } from "../core/schedule.js";
import { outcomeWord, STATE_WORDS } from "../core/words.js";

const STATE_TONES = { attempting: "wait", delivered: "ok", dead: "bad" };
const ATTEMPT_TONES = { ok: "ok", failed: "bad", flying: "wait" };

/** A word on a tinted ground: tones are ok, bad, wait, accent and plain. */
export function Chip({ tone = "plain", title, children }) {
  return html`<span class=${`chip ${tone}`} title=${title}>${children}</span>`;
}

/** Attempting, delivered or dead. */
export function StateChip({ state }) {
  return html`<${Chip} tone=${STATE_TONES[state]}
    ><span class="dot" aria-hidden="true"></span>${STATE_WORDS[state]}<//
  >`;
}

/** How an attempt ended. */
export function OutcomeChip({ attempt }) {
  return html`<${Chip} tone=${ATTEMPT_TONES[attemptState(attempt)]}>${outcomeWord(attempt)}<//>`;
}

/** An event type, its family told by a coloured edge. */
export function TypeName({ type }) {
  const family = String(type ?? "").split(".")[0];
  return html`<span class=${`type ${/^[a-z]+$/.test(family) ? family : "other"}`}
    >${type ?? "unknown type"}</span
  >`;
}
