import { dayAndTimeOf, fullTimeOf, millisecondsOf, timeOf } from "../core/format.ts";
import { live, scheduleNowMs } from "../core/live.ts";
import {
  DELAY_WORDS,
  sinceStartWords,
  type Slot as SlotOf,
  slotsOf,
  type SlotState,
} from "../core/schedule.ts";
import type { Delivery } from "../core/types.ts";
import { outcomeWord } from "../core/words.ts";
import { Countdown, useTick } from "./countdown.tsx";
import { Icon, type IconName } from "./icon.tsx";

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
            {index > 0 && <Wait slot={slot} before={slots[index - 1]} index={index} />}{" "}
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
function Wait({ slot, before, index }: { slot: SlotOf; before: SlotOf | undefined; index: number }) {
  const filled = slot.attempt ? 1 : slot.state === "next" ? progress(before, slot) : 0;
  return (
    <span class="slot-wait" aria-hidden="true">
      <span class="wait-words">{DELAY_WORDS[index]}</span>
      <span class="wait-line">
        <span class="wait-fill" style={{ "--filled": filled }} />
      </span>
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
  const mark = (
    <span class="slot-dot disc" aria-hidden="true">
      {icon ? <Icon name={icon} size={14} /> : number}
    </span>
  );
  if (attempt === undefined)
    return (
      <div class="slot-box">
        {mark}
        <b class="slot-words small" title={`Attempt ${number}`}>
          {since}
        </b>
        <span class="slot-words small">{restWords(slot)}</span>
      </div>
    );
  return (
    <button type="button" class="slot-box edge" aria-pressed={isChosen} onClick={() => onChoose(number)}>
      {mark}{" "}
      <b class="slot-words small" title={`Attempt ${number}`}>
        {since}
      </b>{" "}
      <span class={`slot-words small outcome ${state}`}>{outcomeWord(attempt)}</span>{" "}
      <span class="slot-words small">
        <time datetime={attempt.started_at} title={`Schedule time ${fullTimeOf(attempt.started_at)}`}>
          {shortTime(attempt.started_at)}
        </time>
      </span>{" "}
      <span
        class="slot-words small slot-real muted"
        title={`Real time ${fullTimeOf(attempt.wall_started_at)}`}
      >
        <span class="nowrap">
          real {timeOf(attempt.wall_started_at)}
          {attempt.duration_ms !== null && ","}
        </span>{" "}
        {attempt.duration_ms !== null && <span class="nowrap">{millisecondsOf(attempt.duration_ms)}</span>}
      </span>
    </button>
  );
}

function restWords({ state, dueMs }: SlotOf) {
  const dueAt = new Date(dueMs).toISOString();
  if (state === "next")
    return (
      <>
        <Countdown until={dueAt} />
        <br />
        <span class="muted">{shortTime(dueAt)}</span>
      </>
    );
  if (state === "later")
    return (
      <span class="muted">
        {shortTime(dueAt)}
        <br />
        if all before fail
      </span>
    );
  return <span class="muted">not needed</span>;
}

/** The day stands with it only where it is not today. */
function shortTime(when: string): string {
  const today = live.clock && dayAndTimeOf(live.clock.wall_now).slice(0, 6);
  return dayAndTimeOf(when).slice(0, 6) === today ? timeOf(when) : dayAndTimeOf(when);
}
