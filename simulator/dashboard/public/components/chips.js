import { html } from "../core/html.js";
import { attemptTone } from "../core/schedule.js";
import { outcomeWord, STATE_TITLES, STATE_WORDS } from "../core/words.js";
import { Icon } from "./icon.js";

const STATE_TONES = { attempting: "wait", delivered: "ok", dead: "bad" };
const CHIP_TONES = { ok: "ok", failed: "bad", purpose: "purpose", flying: "wait" };
const TYPE_ICONS = {
  "call.completed": "phone",
  "call.transferred": "transfer",
  "voicemail.created": "voicemail",
  "order.created": "bag",
  "booking.created": "calendar",
};

/** A word on a tinted ground: tones are ok, bad, wait, purpose and plain. */
export function Chip({ tone = "plain", title, children }) {
  return html`<span class=${`chip ${tone}`} title=${title}>${children}</span>`;
}

/** In progress, delivered or given up. */
export function StateChip({ state }) {
  return html`<${Chip} tone=${STATE_TONES[state]} title=${STATE_TITLES[state]}>${STATE_WORDS[state]}<//>`;
}

/** How an attempt ended; what failed on purpose is not shown as the receiver's. */
export function OutcomeChip({ attempt }) {
  return html`<${Chip} tone=${CHIP_TONES[attemptTone(attempt)]}>${outcomeWord(attempt)}<//>`;
}

/** The mark of an event type: a drawing on a ground of its own colour. */
export function TypeMark({ type }) {
  const icon = TYPE_ICONS[type];
  const name = icon === undefined ? "other" : type.replace(".", "-");
  return html`<span class=${`type-mark ${name}`} title=${type ?? "unknown type"} aria-hidden="true"
    ><${Icon} name=${icon ?? "question"} size=${14}
  /></span>`;
}

/** An event type by its name, with its mark. */
export function TypeName({ type }) {
  return html`<span class="type"
    ><${TypeMark} type=${type} /><span class="foreign">${type ?? "unknown type"}</span></span
  >`;
}
