import { live, scheduleNowMs } from "../core/live.ts";
import {
  DELAY_WORDS,
  sinceStartWords,
  type Slot as SlotOf,
  slotsOf,
  type SlotState,
} from "../core/schedule.ts";
import type { Delivery } from "../core/types.ts";
import { fullTimeOf, millisecondsOf, momentOf, outcomeWord, timeOf } from "../core/words.ts";
import { Icon, type IconName } from "./button.tsx";
import { Countdown, useTick } from "./chips.tsx";

const MARKS: Partial<Record<SlotState, IconName>> = { ok: "check", failed: "cross", purpose: "cross" };

type TimelineProps = { delivery: Delivery; chosen: number; onChoose: (number: number) => void };

/** The six slots over 14 h 36 min: what happened in each, and what is still to come. */
export function Timeline({ delivery, chosen, onChoose }: TimelineProps) {
  useTick();
  const slots = slotsOf(delivery);
  return (
    <section class="timeline box" aria-label="Attempts over 14 hours 36 minutes">
      <ol>
        {slots.map((slot, index) => (
          <li key={slot.number} class={`slot ${slot.state} ${chosen === slot.number ? "chosen" : ""}`}>
            {index > 0 && <Wait slot={slot} before={slots[index - 1]} words={DELAY_WORDS[index] ?? ""} />}{" "}
            <Slot
              slot={slot}
              since={sinceStartWords(slots, slot)}
              isChosen={chosen === slot.number}
              onChoose={onChoose}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The way to a slot, filled as far as schedule time has come. */
function Wait({ slot, before, words }: { slot: SlotOf; before: SlotOf | undefined; words: string }) {
  const filled = slot.attempt ? 1 : slot.state === "next" ? progress(before, slot) : 0;
  return (
    <span class="slot-wait tiny faint" aria-hidden="true">
      <span class="wait-words nowrap">{words}</span>
      <span class="wait-line" style={{ "--filled": `${filled * 100}%` }} />
    </span>
  );
}

function progress(before: SlotOf | undefined, slot: SlotOf): number {
  const fromMs =
    Date.parse(before?.attempt?.ended_at ?? before?.attempt?.started_at ?? "") || (before?.dueMs ?? 0);
  const nowMs = scheduleNowMs() ?? fromMs;
  return slot.dueMs <= fromMs ? 1 : Math.min(1, Math.max(0, (nowMs - fromMs) / (slot.dueMs - fromMs)));
}

type SlotProps = { slot: SlotOf; since: string; isChosen: boolean; onChoose: (number: number) => void };

function Slot({ slot, since, isChosen, onChoose }: SlotProps) {
  const { number, attempt, state } = slot;
  const icon = MARKS[state];
  const head = (
    <>
      <span class="slot-dot disc" aria-hidden="true">
        {icon ? <Icon name={icon} size={14} /> : number}
      </span>{" "}
      <b title={`Attempt ${number}`}>{since}</b>{" "}
    </>
  );
  if (attempt === undefined)
    return (
      <div class="slot-box small">
        {head}
        <span class="muted">{restWords(slot)}</span>
      </div>
    );
  const { started_at: at, wall_started_at: wallAt, duration_ms: durationMs } = attempt;
  return (
    <button class="slot-box edge small" aria-pressed={isChosen} onClick={() => onChoose(number)}>
      {head}
      <span class={`outcome ${state}`}>{outcomeWord(attempt)}</span>{" "}
      <time datetime={at} title={`Schedule time ${fullTimeOf(at)}`}>
        {momentOf(at, live.clock?.wall_now)}
      </time>{" "}
      <span class="slot-real muted" title={`Real time ${fullTimeOf(wallAt)}`}>
        <span class="nowrap">
          real {timeOf(wallAt)}
          {durationMs !== null && ","}
        </span>{" "}
        <span class="nowrap">{millisecondsOf(durationMs)}</span>
      </span>
    </button>
  );
}

function restWords({ state, dueMs }: SlotOf) {
  const dueAt = new Date(dueMs).toISOString();
  const when = momentOf(dueAt, live.clock?.wall_now);
  if (state === "unused") return "not needed";
  return (
    <>
      {state === "next" ? <Countdown until={dueAt} /> : when}
      <br />
      {state === "next" ? when : "if all before fail"}
    </>
  );
}
