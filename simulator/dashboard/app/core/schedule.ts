import type { Attempt, Delivery } from "./types.ts";
import { RETRY_DELAYS_SECONDS } from "../../../domain/retry-policy.ts";

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
export function slotsOf(delivery: Delivery): Slot[] {
  const { attempts, state, created_at: createdAt, next_attempt_at: nextAt } = delivery;
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

/** How long after the first attempt a slot's attempt was due, or is due at the earliest: `At once`, `6 min`. */
export function sinceStartWords(slots: readonly Slot[], { number, dueMs, attempt }: Slot): string {
  const planned = RETRY_DELAYS_SECONDS.slice(0, number).reduce<number>((sum, seconds) => sum + seconds, 0);
  const seconds = Math.round((dueMs - (slots[0]?.dueMs ?? dueMs)) / 1000);
  // This includes the duration of earlier attempts.
  const isAsPlanned = attempt === undefined || (seconds >= planned && seconds - planned <= 60);
  const shown = isAsPlanned ? planned : seconds;
  return shown < 1 ? "At once" : shown < 60 ? `${shown} s` : wordsOf(shown - (shown % 60));
}

/** How an attempt ended; `purpose` if the simulator made it fail on purpose. */
export function attemptTone(attempt: Attempt): "ok" | "failed" | "flying" | "purpose" {
  const { ended_at: endedAt, http_status: status, blame } = attempt;
  if (endedAt === null) return "flying";
  if (status !== null && status >= 200 && status <= 299) return "ok";
  return blame === "simulator" ? "purpose" : "failed";
}

function wordsOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), (seconds % 3_600) / 60];
  return [hours > 0 ? `${hours} h` : "", minutes > 0 ? `${minutes} min` : ""].filter(Boolean).join(" ");
}
