/** The retry policy (SPEC §6): seconds before each attempt, counted from the one before. */
export const DELAYS_SECONDS = [0, 60, 300, 1_800, 7_200, 43_200];

/** `+1 min`, `+12 h`: how long slot `index` waits after the one before. */
export const DELAY_WORDS = ["at once", "+1 min", "+5 min", "+30 min", "+2 h", "+12 h"];

/**
 * The six slots of a delivery. Each has its state (`ok`, `failed`, `purpose`, `flying`, `next`, `later`, `unused`), the
 * attempt made in it if any, and when it was or will be due at the earliest, in milliseconds of schedule time.
 */
export function slotsOf(delivery) {
  const { attempts } = delivery;
  let dueMs = Date.parse(attempts[0]?.scheduled_at ?? delivery.next_attempt_at ?? delivery.created_at);
  return DELAYS_SECONDS.map((delaySeconds, index) => {
    const attempt = attempts[index];
    if (index > 0) dueMs = dueOf(delivery, index, dueMs + delaySeconds * 1000);
    if (attempt !== undefined) {
      const slot = { number: index + 1, dueMs, attempt, state: attemptTone(attempt) };
      dueMs = Date.parse(attempt.ended_at ?? attempt.started_at);
      return slot;
    }
    const isNext = index === attempts.length && delivery.next_attempt_at !== null;
    return { number: index + 1, dueMs, attempt, state: isNext ? "next" : restState(delivery) };
  });
}

/** `ok`, `failed` or `flying`. */
export function attemptState(attempt) {
  if (attempt.ended_at === null) return "flying";
  return isSuccess(attempt) ? "ok" : "failed";
}

/** As `attemptState`, but `purpose` where the simulator made it fail on purpose: that is not the receiver's. */
export function attemptTone(attempt) {
  const state = attemptState(attempt);
  return state === "failed" && attempt.blame === "simulator" ? "purpose" : state;
}

export function isSuccess(attempt) {
  return attempt.http_status !== null && attempt.http_status >= 200 && attempt.http_status <= 299;
}

function dueOf(delivery, index, plannedMs) {
  const attempt = delivery.attempts[index];
  if (attempt !== undefined) return Date.parse(attempt.scheduled_at);
  const isNext = index === delivery.attempts.length && delivery.next_attempt_at !== null;
  return isNext ? Date.parse(delivery.next_attempt_at) : plannedMs;
}

function restState(delivery) {
  return delivery.state === "attempting" ? "later" : "unused";
}
