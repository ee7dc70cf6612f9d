import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Handler } from "./handler.ts";

/** The first wait after a failure, the factor from each wait to the next, and the longest wait. */
const FIRST_MS = 5_000;
const FACTOR = 3;
const LONGEST_MS = 6 * 3_600_000;

/** A wait is shortened by up to this part at random, so that what failed together does not return together. */
const JITTER = 0.2;

/** The longest delay that a store takes. */
export const LONGEST_DELAY_MS = 20 * 86_400_000;

export type Policy = ReturnType<typeof policyOf>;

/** The policies of a handler, with the environment's value for each that it does not set. */
export function policyOf(
  handler: Handler,
  config: Pick<Config, "maximumAttempts" | "handlerTimeoutMs" | "workerConcurrency">,
  random: () => number,
) {
  const { maxAttempts, timeoutSeconds = config.handlerTimeoutMs / 1_000, concurrency = Infinity } = handler;
  return {
    handler,
    maximumAttempts: maxAttempts ?? config.maximumAttempts,
    timeoutMs: timeoutSeconds * 1_000,
    concurrency: Math.min(concurrency, config.workerConcurrency),
    /** Whole milliseconds until the next attempt after attempt `attempt` (from 1) failed. */
    backoffMs: (attempt: number): number =>
      Math.min(ownBackoffMs(handler, attempt) ?? backoffMs(attempt, random), LONGEST_DELAY_MS),
  };
}

/** 5 s, 15 s, 45 s, 135 s … up to 6 h, each shortened by up to a fifth: ten attempts span about ten hours. */
function backoffMs(attempt: number, random: () => number): number {
  const fullMs = Math.min(FIRST_MS * FACTOR ** (attempt - 1), LONGEST_MS);
  return Math.round(fullMs * (1 - JITTER * random()));
}

/** Undefined if the handler has no backoff of its own, or if its function throws or returns no time. */
function ownBackoffMs({ backoff }: Handler, attempt: number): number | undefined {
  try {
    const waitMs = Math.ceil((backoff?.(attempt) ?? Number.NaN) * 1_000);
    return waitMs >= 0 ? waitMs : undefined;
  } catch {
    return undefined;
  }
}

/** Lets at most `limit` attempts begin within any `perSeconds`; any number without a limit. */
export function createRateLimit(rateLimit: Handler["rateLimit"], clock: Clock) {
  const { limit = Infinity, perSeconds = 0 } = rateLimit ?? {};
  /** When the last attempts began, the oldest first. */
  const begun: number[] = [];
  const sinceMs = (): number => clock.monotonicMs() - perSeconds * 1_000;

  return {
    /** How many may begin now. */
    room: (): number => {
      while ((begun[0] ?? Infinity) <= sinceMs()) begun.shift();
      return limit - begun.length;
    },
    /** Milliseconds until the oldest no longer counts; Infinity if there is none. */
    waitMs: (): number => Math.ceil((begun[0] ?? Infinity) - sinceMs()),
    begin: (): void => void (rateLimit && begun.push(clock.monotonicMs())),
  };
}
