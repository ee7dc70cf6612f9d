import { useEffect, useRef, useState } from "preact/hooks";
import { control } from "./api.ts";
import { live, scheduleNowMs, useLive } from "./live.ts";
import { createNewest } from "./load.ts";
import type { Attempt, Delivery, Due } from "./types.ts";
import { countOf } from "./words.ts";
import { RETRY_DELAYS_SECONDS, SCHEDULE_SECONDS } from "../../../../shared/retry-policy.ts";

/** The delays of the retry policy (SPEC §6) that are waited, in seconds and in words: `1 min`, `12 h`. */
export const WAITS = RETRY_DELAYS_SECONDS.slice(1).map((seconds) => ({ seconds, words: wordsOf(seconds) }));

/** `+1 min`, `+12 h`: how long slot `index` waits after the one before. */
export const DELAY_WORDS = ["at once", ...WAITS.map(({ words }) => `+${words}`)];

export type SlotState = "ok" | "failed" | "purpose" | "flying" | "next" | "later" | "unused";
export type Slot = { number: number; dueMs: number; attempt: Attempt | undefined; state: SlotState };

/**
 * The six slots of a delivery. Each has its state, the attempt made in it if any, and when it was or will be due at the
 * earliest, in milliseconds of schedule time.
 */
export function slotsOf({
  attempts,
  state,
  created_at: createdAt,
  next_attempt_at: nextAt,
}: Delivery): Slot[] {
  let fromMs = Date.parse(createdAt);
  return RETRY_DELAYS_SECONDS.map((delaySeconds, index) => {
    const attempt = attempts[index];
    const isNext = index === attempts.length && nextAt !== null;
    const dueAt = attempt?.scheduled_at ?? (isNext ? nextAt : undefined);
    const dueMs = dueAt === undefined ? fromMs + delaySeconds * 1000 : Date.parse(dueAt);
    fromMs = attempt === undefined ? dueMs : Date.parse(attempt.ended_at ?? attempt.started_at);
    const rest = isNext ? "next" : state === "attempting" ? "later" : "unused";
    return { number: index + 1, dueMs, attempt, state: attempt === undefined ? rest : attemptTone(attempt) };
  });
}

/** How long after the first attempt a slot's own was due, or is due at the earliest: `At once`, `6 min`. */
export function sinceStartWords(slots: readonly Slot[], { number, dueMs, attempt }: Slot): string {
  const planned = RETRY_DELAYS_SECONDS.slice(0, number).reduce<number>((sum, seconds) => sum + seconds, 0);
  const seconds = Math.round((dueMs - (slots[0]?.dueMs ?? dueMs)) / 1000);
  // What the attempts before took is part of it.
  const isAsPlanned = attempt === undefined || (seconds >= planned && seconds - planned <= 60);
  const shown = isAsPlanned ? planned : seconds;
  return shown < 1 ? "At once" : shown < 60 ? `${shown} s` : wordsOf(shown - (shown % 60));
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

export function isSuccess({ http_status: status }: Attempt): boolean {
  return status !== null && status >= 200 && status <= 299;
}

function wordsOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), (seconds % 3_600) / 60];
  return [hours > 0 ? `${hours} h` : "", minutes > 0 ? `${minutes} min` : ""].filter(Boolean).join(" ");
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

/** What would be on the way to a moment of schedule time: `3 attempts and 2 scenario steps`, or nothing. */
export function onTheWay(due: Due[], untilMs: number): string {
  const counts = { attempt: 0, step: 0 };
  for (const { kind, due_at: dueAt, count } of due) if (Date.parse(dueAt) <= untilMs) counts[kind] += count;
  const { attempt, step } = counts;
  return [attempt > 0 && countOf(attempt, "attempt"), step > 0 && countOf(step, "scenario step")]
    .filter(Boolean)
    .join(" and ");
}

/** How far ahead of now a moment is, in milliseconds; what is overdue is now. */
export function aheadOf(dueAt: string): number {
  return Math.max(0, Date.parse(dueAt) - (scheduleNowMs() ?? 0));
}
