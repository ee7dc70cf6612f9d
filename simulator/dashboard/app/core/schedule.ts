import { useEffect, useRef, useState } from "preact/hooks";
import { control } from "./api.ts";
import { live, scheduleNowMs, useLive } from "./live.ts";
import { createNewest } from "./load.ts";
import type { Attempt, Delivery, Due } from "./types.ts";
import { countOf } from "./words.ts";
import { RETRY_DELAYS_SECONDS } from "../../../../shared/retry-policy.ts";
import { SCHEDULE_SECONDS } from "../../../../shared/retry-policy.ts";

/** The delays of the retry policy (SPEC §6) that are waited, in seconds and in words: `1 min`, `12 h`. */
export const WAITS = RETRY_DELAYS_SECONDS.slice(1).map((seconds) => ({ seconds, words: wordsOf(seconds) }));

/** `+1 min`, `+12 h`: how long slot `index` waits after the one before. */
export const DELAY_WORDS = ["at once", ...WAITS.map(({ words }) => `+${words}`)];

/** `6 min`, `2 h 36 min`: when slot `index` comes at the earliest, counted from the first. */
const SINCE_START_WORDS = RETRY_DELAYS_SECONDS.map((_, index) =>
  index === 0
    ? "At once"
    : wordsOf(RETRY_DELAYS_SECONDS.slice(0, index + 1).reduce<number>((sum, seconds) => sum + seconds, 0)),
);

export type SlotState = "ok" | "failed" | "purpose" | "flying" | "next" | "later" | "unused";
export type Slot = { number: number; dueMs: number; attempt: Attempt | undefined; state: SlotState };

/**
 * The six slots of a delivery. Each has its state (`ok`, `failed`, `purpose`, `flying`, `next`, `later`, `unused`), the
 * attempt made in it if any, and when it was or will be due at the earliest, in milliseconds of schedule time.
 */
export function slotsOf(delivery: Delivery): Slot[] {
  const { attempts } = delivery;
  let dueMs = Date.parse(attempts[0]?.scheduled_at ?? delivery.next_attempt_at ?? delivery.created_at);
  return RETRY_DELAYS_SECONDS.map((delaySeconds, index) => {
    const attempt = attempts[index];
    if (index > 0) dueMs = dueOf(delivery, index, dueMs + delaySeconds * 1000);
    if (attempt !== undefined) {
      const slot: Slot = { number: index + 1, dueMs, attempt, state: attemptTone(attempt) };
      dueMs = Date.parse(attempt.ended_at ?? attempt.started_at);
      return slot;
    }
    const isNext = index === attempts.length && delivery.next_attempt_at !== null;
    return { number: index + 1, dueMs, attempt, state: isNext ? "next" : restState(delivery) };
  });
}

/** How long after the first attempt a slot's own was due, or is due at the earliest: `At once`, `6 min`. */
export function sinceStartWords(slots: readonly Slot[], { number, dueMs, attempt }: Slot): string {
  const planned = RETRY_DELAYS_SECONDS.slice(0, number).reduce<number>((sum, seconds) => sum + seconds, 0);
  const seconds = Math.round((dueMs - (slots[0]?.dueMs ?? dueMs)) / 1000);
  // What the attempts before took is part of it.
  const isAsPlanned = attempt === undefined || (seconds >= planned && seconds - planned <= 60);
  if (isAsPlanned) return SINCE_START_WORDS[number - 1] ?? "";
  return seconds < 1 ? "At once" : seconds < 60 ? `${seconds} s` : wordsOf(seconds - (seconds % 60));
}

/** `ok`, `failed` or `flying`. */
export function attemptState(attempt: Attempt): "ok" | "failed" | "flying" {
  if (attempt.ended_at === null) return "flying";
  return isSuccess(attempt) ? "ok" : "failed";
}

/** As `attemptState`, but `purpose` where the simulator made it fail on purpose: that is not the receiver's. */
export function attemptTone(attempt: Attempt): "ok" | "failed" | "flying" | "purpose" {
  const state = attemptState(attempt);
  return state === "failed" && attempt.blame === "simulator" ? "purpose" : state;
}

export function isSuccess(attempt: Attempt): boolean {
  return attempt.http_status !== null && attempt.http_status >= 200 && attempt.http_status <= 299;
}

function wordsOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), (seconds % 3_600) / 60];
  return [hours > 0 ? `${hours} h` : "", minutes > 0 ? `${minutes} min` : ""].filter(Boolean).join(" ");
}

function dueOf(delivery: Delivery, index: number, plannedMs: number): number {
  const attempt = delivery.attempts[index];
  if (attempt !== undefined) return Date.parse(attempt.scheduled_at);
  const { attempts, next_attempt_at: nextAt } = delivery;
  return index === attempts.length && nextAt !== null ? Date.parse(nextAt) : plannedMs;
}

function restState(delivery: Delivery): SlotState {
  return delivery.state === "attempting" ? "later" : "unused";
}

/** All that a delivery can take (SPEC §6): 14 h 36 min, in milliseconds. */
export const SCHEDULE_MS = SCHEDULE_SECONDS * 1000;

const MINUTE_MS = 60_000;
const REFRESH_MS = 250;

/**
 * Where `aheadMs` from now stands on a line from now (0) to the end of the schedule (1). A minute at the beginning has more
 * room than an hour at the end, as the delays of the retry policy have it.
 */
export function placeOnLine(aheadMs: number): number {
  const place = Math.log1p(aheadMs / MINUTE_MS) / Math.log1p(SCHEDULE_MS / MINUTE_MS);
  return Math.min(1, Math.max(0, place));
}

/** The other way round: how far ahead a place on the line is, in whole milliseconds. */
export function aheadAtPlace(place: number): number {
  const within = Math.min(1, Math.max(0, place));
  return Math.round(Math.expm1(within * Math.log1p(SCHEDULE_MS / MINUTE_MS)) * MINUTE_MS);
}

/** What falls due within the schedule, by due time; asked for again when time moves or deliveries change. */
export function useAhead(): Due[] {
  const { clock } = useLive();
  const [due, setDue] = useState<Due[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const [newest] = useState(createNewest);
  useEffect(() => {
    if (clock === undefined) return;
    if (clock.next_attempt_at === null) {
      newest.overtake();
      setDue([]);
    }
    timer.current ??= setTimeout(async () => {
      timer.current = undefined;
      if (live.clock?.next_attempt_at === null) return;
      // Where it fails, the stream notices the same and says so.
      const asked = control.get("/clock/ahead").catch(() => undefined);
      await newest.of(asked, (ahead) => setDue(ahead?.data ?? []));
    }, REFRESH_MS);
  }, [clock]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return due;
}

type OnTheWay = { attempts: number; steps: number };

/** What would be on the way to a moment of schedule time, counted: `{ attempts, steps }`. */
export function onTheWay(due: Due[], untilMs: number): OnTheWay {
  const counts = { attempts: 0, steps: 0 };
  for (const { kind, due_at: dueAt, count } of due) {
    if (Date.parse(dueAt) <= untilMs) counts[kind === "attempt" ? "attempts" : "steps"] += count;
  }
  return counts;
}

/** `3 attempts and 2 steps of scenarios`, or nothing. */
export function onTheWayWords({ attempts, steps }: OnTheWay): string {
  return [attempts > 0 ? countOf(attempts, "attempt") : "", steps > 0 ? countOf(steps, "scenario step") : ""]
    .filter(Boolean)
    .join(" and ");
}

/** How far ahead of now a moment is, in milliseconds; what is overdue is now. */
export function aheadOf(dueAt: string): number {
  return Math.max(0, Date.parse(dueAt) - (scheduleNowMs() ?? 0));
}
