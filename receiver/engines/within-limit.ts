import type { Clock } from "../clock.ts";
import { namedError } from "../named-error.ts";

/** A handler's transaction holds what other handlers wait for; it gets this long. */
const LIMIT_MS = 5_000;
const TOO_LONG = `The transaction was still open after ${String(LIMIT_MS / 1_000)} s, and others wait for what it holds. Call no service inside atomically().`;

/**
 * Waits for what a handler does in its transaction, until one of `signals` is aborted or 5 s have passed; then it
 * rejects with the reason, while the handler may go on.
 */
export async function withinLimit<Result>(
  work: () => Promise<Result>,
  { signals, clock }: { signals: Iterable<AbortSignal>; clock: Clock },
): Promise<Result> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  for (const signal of signals) {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  }
  const cancel = clock.after(LIMIT_MS, () => reject(namedError("TransactionTooLong", TOO_LONG)));
  try {
    return await Promise.race([work(), over]);
  } finally {
    cancel();
  }
}
