import type { Delivery } from "../core/types.ts";
import { slotsOf, type SlotState } from "../core/schedule.ts";
import { outcomeWord } from "../core/words.ts";

const WORDS: Partial<Record<SlotState, string>> = {
  later: "not due yet",
  next: "next",
  unused: "not needed",
};

/** The six slots of a delivery as six small marks. */
export function SlotStrip({ delivery }: { delivery: Delivery }) {
  const slots = slotsOf(delivery);
  const made = delivery.attempts.length;
  return (
    <span class="strip" role="img" aria-label={`${made} of 6 attempts made`}>
      {slots.map((slot) => (
        <span
          key={slot.number}
          class={`slot-mark ${slot.state}`}
          title={`Attempt ${slot.number}: ${slot.attempt ? outcomeWord(slot.attempt) : WORDS[slot.state]}`}
        />
      ))}
    </span>
  );
}
