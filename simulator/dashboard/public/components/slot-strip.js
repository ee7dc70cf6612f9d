import { html } from "../core/html.js";
import { slotsOf } from "../core/schedule.js";
import { outcomeWord } from "../core/words.js";

const WORDS = { later: "not due yet", next: "next", unused: "not needed" };

/** The six slots of a delivery as six small marks. */
export function SlotStrip({ delivery }) {
  const slots = slotsOf(delivery);
  const made = delivery.attempts.length;
  return html`<span class="strip" role="img" aria-label=${`${made} of 6 attempts made`}>
    ${slots.map(
      (slot) =>
        html`<span
          key=${slot.number}
          class=${`slot-mark ${slot.state}`}
          title=${`Attempt ${slot.number}: ${slot.attempt ? outcomeWord(slot.attempt) : WORDS[slot.state]}`}
        ></span>`,
    )}
  </span>`;
}
