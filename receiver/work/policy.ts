import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Handler } from "./handler.ts";

/** The first wait after a failure, the factor between waits, and the longest wait. */
const FIRST_MS = 5_000;
const FACTOR = 3;
const LONGEST_MS = 6 * 3_600_000;

/** Each wait is shortened at random by up to this part, so that jobs that failed together do not retry together. */
const JITTER = 0.2;

/** The longest delay that stores take. */
export const LONGEST_DELAY_MS = 20 * 86_400_000;

export type Policy = ReturnType<typeof policyOf>;

/** A handler's policies, with the environment's defaults. */
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
    /** Whole milliseconds to wait after attempt `attempt` (from 1) failed. */
    backoffMs: (attempt: number): number =>
      Math.min(ownBackoffMs(handler, attempt) ?? backoffMs(attempt, random), LONGEST_DELAY_MS),
  };
}

/** 5 s, 15 s, 45 s, 135 s … up to 6 h, each shortened by up to a fifth: ten attempts span about ten hours. */
function backoffMs(attempt: number, random: () => number): number {
  const fullMs = Math.min(FIRST_MS * FACTOR ** (attempt - 1), LONGEST_MS);
  return Math.round(fullMs * (1 - JITTER * random()));
}

/** Undefined if the handler has no backoff, or if its function throws or returns no valid time. */
function ownBackoffMs({ backoff }: Handler, attempt: number): number | undefined {
  try {
    const waitMs = Math.ceil((backoff?.(attempt) ?? Number.NaN) * 1_000);
    return waitMs >= 0 ? waitMs : undefined;
  } catch {
    return undefined;
  }
}

/** Lets at most `limit` attempts start within `perSeconds`; without a limit, any number. */
export function createRateLimit(rateLimit: Handler["rateLimit"], clock: Clock) {
  const { limit = Infinity, perSeconds = 0 } = rateLimit ?? {};
  /** When the last attempts started, oldest first. */
  const begun: number[] = [];
  const sinceMs = (): number => clock.monotonicMs() - perSeconds * 1_000;

  return {
    /** How many may start now. */
    room: (): number => {
      while ((begun[0] ?? Infinity) <= sinceMs()) begun.shift();
      return limit - begun.length;
    },
    /** Milliseconds until the oldest start no longer counts; Infinity if there is none. */
    waitMs: (): number => Math.ceil((begun[0] ?? Infinity) - sinceMs()),
    begin: (): void => void (rateLimit && begun.push(clock.monotonicMs())),
  };
}
