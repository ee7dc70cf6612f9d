import type { Attempt, Delivery } from "./types.ts";
import { RETRY_DELAYS_SECONDS } from "../../../../shared/retry-policy.ts";

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
