import { setTimeout as sleep } from "node:timers/promises";
import { type Envelope, EVENT_TYPES } from "../../shared/events.ts";
import { MAXIMUM_ATTEMPTS } from "../domain/retry-policy.ts";
import type { Verdict } from "./check.ts";
import type { CheckContext } from "./context.ts";
import {
  type Deliverable,
  type DeliverOptions,
  type Exchange,
  hasTimedOut,
  isAcknowledged,
} from "./delivery.ts";
import { allAcknowledged } from "./judgement.ts";
import type { Timing } from "./timing.ts";

type Sending = Pick<CheckContext, "deliver" | "timing" | "answerTimeoutMs">;

/**
 * Delivers as the service does: again, newly signed, until it is acknowledged or six attempts were made (SPEC §6 Retry
 * policy), with short delays in place of minutes. For deliveries that a receiver may refuse once without losing anything.
 * After an attempt without an answer in time, the remaining ones wait side by side, or are left out in a run that has already
 * shown that answers come too late.
 */
export async function attempts(context: Sending, what: Deliverable): Promise<Exchange[]> {
  const { deliver, timing } = context;
  const exchanges = [await deliver(what)];
  while (exchanges.length < MAXIMUM_ATTEMPTS && !exchanges.some(isAcknowledged)) {
    const isSlow = exchanges.some(hasTimedOut);
    if (isSlow && isHurried(context)) return exchanges;
    const count = isSlow ? MAXIMUM_ATTEMPTS - exchanges.length : 1;
    await sleep(timing.retryMs * exchanges.length);
    exchanges.push(...(await Promise.all(Array.from({ length: count }, () => deliver(what)))));
  }
  return exchanges;
}

/** Whether answers get less time than the service gives: a check has shown already that they come too late. */
function isHurried({ timing, answerTimeoutMs }: Sending): boolean {
  return answerTimeoutMs() < timing.responseTimeoutMs;
}

/** The whole request is sent, and the connection is cut without waiting for the answer. */
export const ANSWER_LOST: DeliverOptions = {
  manner: {
    note: "The connection was cut right after the request.",
    send: async (wire, { head, framedBody }) => {
      await wire.write(Buffer.concat([head, framedBody]));
      wire.reset();
    },
  },
};

/** Sends half of the request's body and cuts the connection: no whole event arrives. */
export const CUT_SHORT: DeliverOptions = {
  forged: true,
  manner: {
    note: "The connection was reset after half of the body.",
    send: async (wire, { head, framedBody }) => {
      await wire.write(Buffer.concat([head, framedBody.subarray(0, framedBody.length / 2)]));
      await sleep(20);
      wire.reset();
    },
  },
};

/**
 * Delivers once, loses the answer as `lost` does, and then delivers as the service does, with shorter delays. The last retry
 * comes after the time for that answer: until then the event may be under way, and a receiver may refuse copies of it.
 */
export async function attemptsAfter(
  context: Sending,
  what: Deliverable,
  lost: DeliverOptions,
): Promise<Exchange[]> {
  const { deliver, timing, answerTimeoutMs } = context;
  const answerDueAt = performance.now() + Math.min(timing.underWayMs, answerTimeoutMs());
  const first = await deliver(what, lost);
  const retries = await attempts(context, what);
  const isKnown = isHurried(context) && retries.some(hasTimedOut);
  if (isKnown || retries.some(isAcknowledged)) return [first, ...retries];
  await sleep(Math.max(0, answerDueAt - performance.now()));
  return [first, ...retries, await deliver(what)];
}

/**
 * Six deliveries of the same event, acknowledged or not, each signed a second later than the one before; stops after one
 * without an answer in time.
 */
export async function sixInARow(
  { deliver }: Pick<CheckContext, "deliver">,
  what: Deliverable,
): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  for (let attempt = 1; attempt <= MAXIMUM_ATTEMPTS && !exchanges.some(hasTimedOut); attempt += 1) {
    exchanges.push(await deliver(what, { ageSeconds: MAXIMUM_ATTEMPTS - attempt }));
  }
  return exchanges;
}

/** `count` deliveries of the same event at one time; the evidence says so. */
export function copiesAtOnce(
  { deliver }: Pick<CheckContext, "deliver">,
  what: Deliverable,
  count: 10 | 30,
): Promise<Exchange[]> {
  const note = `One of ${count === 10 ? "ten" : "thirty"} copies at once.`;
  return Promise.all(Array.from({ length: count }, () => deliver(what, { note })));
}

/** As many events as a burst has, of every type in turn. */
export function burst({ event, timing }: Pick<CheckContext, "event" | "timing">): Envelope[] {
  return Array.from({ length: timing.burst }, (_, n) => event(EVENT_TYPES[n % EVENT_TYPES.length]));
}

/** Passed when the last of an event's attempts was acknowledged. */
export function taken(exchanges: Exchange[]): Verdict {
  return allAcknowledged(exchanges.slice(-1));
}

const POLL_MS = 100;

/**
 * Delivers what `deliver` sends again and again for at most `readyMs` while the answer is what a receiver, or the gateway in
 * front of it, says that still boots: 502, 503 or 504. The service would repeat it as well.
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

/** Whether this is the answer of a receiver that boots, or of the gateway in front of it. */
export function isBooting({ outcome }: Exchange): boolean {
  return outcome.kind === "answered" && outcome.status >= 502 && outcome.status <= 504;
}
