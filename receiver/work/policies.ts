import type { JobHandler } from "../engine.ts";
import type { Handler } from "./handler.ts";

/** The first wait after a failed handling, the factor from each to the next, and the longest. */
const FIRST_MS = 5_000;
const FACTOR = 3;
const LONGEST_MS = 6 * 3_600_000;

/** A wait is shortened by up to this part at random, so that what failed together does not return together. */
const JITTER = 0.2;

/** The environment's values, for handlers without a policy of their own. */
export type PolicyDefaults = {
  maximumAttempts: number;
  handlerTimeoutMs: number;
  workerConcurrency: number;
};

/** What an engine has to know of a handler. `clean` takes personal data out of the reason why an event has no key. */
export function jobHandler(
  handler: Handler,
  options: {
    defaults: PolicyDefaults;
    random: () => number;
    clean: (text: string, body: string) => string;
  },
): JobHandler {
  const { defaults } = options;
  const { name, types, migrations = [], rateLimit, concurrency = defaults.workerConcurrency } = handler;
  return {
    name,
    types,
    migrations,
    maximumAttempts: handler.maxAttempts ?? defaults.maximumAttempts,
    backoffMs: (attempt) => ownBackoffMs(handler, attempt) ?? backoffMs(attempt, options.random),
    concurrency: Math.min(concurrency, defaults.workerConcurrency),
    rateLimit: rateLimit && { limit: rateLimit.limit, perMs: Math.ceil(rateLimit.perSeconds * 1_000) },
    key: handler.key && ((body) => keyOf(handler, body, options.clean)),
  };
}

/**
 * Milliseconds to wait after the handler failed on attempt `attempt` (from 1): 5 s, 15 s, 45 s, 135 s … up to 6 h,
 * each shortened by up to a fifth by chance. The ten attempts of the default span about ten hours.
 */
export function backoffMs(attempt: number, random: () => number): number {
  const fullMs = Math.min(FIRST_MS * FACTOR ** (attempt - 1), LONGEST_MS);
  return Math.round(fullMs * (1 - JITTER * random()));
}

/** Undefined where the handler has no backoff of its own, or its function gave no time: then the usual one counts. */
function ownBackoffMs({ backoff }: Handler, attempt: number): number | undefined {
  try {
    const waitMs = Math.ceil((backoff?.(attempt) ?? Number.NaN) * 1_000);
    return waitMs >= 0 && Number.isSafeInteger(waitMs) ? waitMs : undefined;
  } catch {
    return undefined;
  }
}

function keyOf(handler: Handler, body: string, clean: (text: string, body: string) => string): string {
  try {
    const parsed = handler.parse(JSON.parse(body));
    if (!parsed.ok) throw new Error(parsed.problem);
    const key: unknown = handler.key?.(parsed.event) ?? "";
    if (typeof key === "string" || typeof key === "number") return String(key);
    // Where nobody checks types it may be anything, such as the promise of an async function.
    throw new TypeError(`not a text but ${typeof key}`);
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    throw Object.assign(new Error(clean(message, body), { cause: error }), { name });
  }
}
