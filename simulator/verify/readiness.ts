import { setTimeout as sleep } from "node:timers/promises";
import type { Exchange } from "./delivery.ts";
import type { Timing } from "./timing.ts";

const POLL_MS = 100;

/**
 * Delivers what `deliver` sends again and again while the answer is 503, as a receiver says that still boots, for at most
 * `readyMs`. The service would repeat it as well.
 */
export async function whenReady(
  { readyMs }: Pick<Timing, "readyMs">,
  deliver: () => Promise<Exchange>,
): Promise<Exchange> {
  const dueAt = performance.now() + readyMs;
  for (;;) {
    const exchange = await deliver();
    if (!isBooting(exchange) || performance.now() >= dueAt) return exchange;
    await sleep(POLL_MS);
  }
}

function isBooting({ outcome }: Exchange): boolean {
  return outcome.kind === "answered" && outcome.status === 503;
}
