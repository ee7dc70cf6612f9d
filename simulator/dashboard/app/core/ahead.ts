import { scheduleNowMs, useLive } from "./live.ts";
import { useGot } from "./load.ts";
import type { Due } from "./types.ts";
import { countOf } from "./words.ts";
import { SCHEDULE_SECONDS } from "../../../domain/retry-policy.ts";

/** The longest time of a delivery (SPEC §6): 14 h 36 min, in milliseconds. */
export const SCHEDULE_MS = SCHEDULE_SECONDS * 1000;

const MINUTE_MS = 60_000;
const REFRESH_MS = 250;

/**
 * The place of `aheadMs` from now on a line from now (0) to the end of the schedule (1). A minute at the beginning is wider
 * than an hour at the end, like the delays of the retry policy.
 */
export function placeOnLine(aheadMs: number): number {
  const place = Math.log1p(aheadMs / MINUTE_MS) / Math.log1p(SCHEDULE_MS / MINUTE_MS);
  return Math.min(1, Math.max(0, place));
}

/** The inverse: how far ahead a place on the line is, in whole milliseconds. */
export function aheadAtPlace(place: number): number {
  const within = Math.min(1, Math.max(0, place));
  return Math.round(Math.expm1(within * Math.log1p(SCHEDULE_MS / MINUTE_MS)) * MINUTE_MS);
}

/** Attempts that become due within the schedule, by due time; reloaded when time moves or deliveries change. */
export function useAhead(): Due[] {
  const { clock, clockChanges } = useLive();
  const { value } = useGot("/clock/ahead", { again: clockChanges, afterMs: REFRESH_MS });
  return clock?.next_attempt_at ? (value?.data ?? []) : [];
}

/** What lies between now and a time: `3 attempts and 2 scenario steps`, or nothing. */
export function onTheWay(due: Due[], untilMs: number): string {
  const counts = { attempt: 0, step: 0 };
  for (const { kind, due_at: dueAt, count } of due) if (Date.parse(dueAt) <= untilMs) counts[kind] += count;
  const { attempt, step } = counts;
  return [attempt > 0 && countOf(attempt, "attempt"), step > 0 && countOf(step, "scenario step")]
    .filter(Boolean)
    .join(" and ");
}

/** How far ahead a time is, in milliseconds; overdue counts as now. */
export function aheadOf(dueAt: string): number {
  return Math.max(0, Date.parse(dueAt) - (scheduleNowMs() ?? 0));
}
