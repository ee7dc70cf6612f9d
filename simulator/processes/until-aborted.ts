import { once } from "node:events";

/** Resolves when `signal` says so, at once if it has already. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
