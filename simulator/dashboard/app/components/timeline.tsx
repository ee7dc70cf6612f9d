import { live } from "../core/live.ts";
import { sinceStartWords, type Slot as SlotOf, slotsOf, type SlotState } from "../core/schedule.ts";
import type { Delivery } from "../core/types.ts";
import { fullTimeOf, millisecondsOf, momentOf, outcomeWord, timeOf } from "../core/words.ts";
import { Icon, type IconName } from "./button.tsx";
import { Countdown } from "./chips.tsx";

const MARKS: Partial<Record<SlotState, IconName>> = { ok: "check", failed: "cross", purpose: "cross" };

type TimelineProps = { delivery: Delivery; chosen: number; onChoose: (number: number) => void };

/** The six slots over 14 h 36 min: past and future attempts. */
export function Timeline({ delivery, chosen, onChoose }: TimelineProps) {
  const slots = slotsOf(delivery);
  return (
    <section class="timeline box" aria-label="Attempts over 14 hours 36 minutes">
      <ol>
        {slots.map((slot) => (
          <li key={slot.number} class={`slot ${slot.state} ${chosen === slot.number ? "chosen" : ""}`}>
            {slot.attempt === undefined ? (
              <div class="slot-box small">{slotParts(slot, slots)}</div>
            ) : (
              <button
                class="slot-box edge small"
                aria-pressed={chosen === slot.number}
                onClick={() => onChoose(slot.number)}
              >
                {slotParts(slot, slots)}
              </button>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** When it was or will be due after the first one, how it ended, in real time, and in schedule time. */
function slotParts(slot: SlotOf, slots: SlotOf[]) {
  const { number, state, attempt, dueMs } = slot;
  const icon = MARKS[state];
  const at = attempt?.started_at ?? new Date(dueMs).toISOString();
  const rest = state === "next" ? <Countdown until={at} /> : state === "later" && "if all before fail";
  return [
    <span class="slot-dot disc" aria-hidden="true">
      {icon ? <Icon name={icon} size={14} /> : number}
    </span>,
    <b title={`Attempt ${number}`}>{sinceStartWords(slots, slot)}</b>,
    <span class={`outcome ${state}`}>{attempt ? outcomeWord(attempt) : rest || "not needed"}</span>,
    <span class="slot-real muted" title={attempt && `Real time ${fullTimeOf(attempt.wall_started_at)}`}>
      {attempt && `real ${timeOf(attempt.wall_started_at)} · ${millisecondsOf(attempt.duration_ms)}`}
    </span>,
    state !== "unused" && (
      <time datetime={at} title={`Schedule time ${fullTimeOf(at)}`}>
        {momentOf(at, live.clock?.wall_now)}
      </time>
    ),
  ];
}
