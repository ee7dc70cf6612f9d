import { setTimeout as sleep } from "node:timers/promises";
import type { EventType } from "../../shared/events.ts";
import type { ReceiverProcess } from "../processes/receiver-process.ts";
import type { CheckContext, Need } from "./check.ts";
import { createDelivery, type Exchange } from "./delivery.ts";
import type { KillRounds } from "./check.ts";
import type { Ledger } from "./ledger.ts";
import { createMaterial } from "./material.ts";
import type { Observer } from "../observer/observer.ts";
import type { ReceiverClock } from "./receiver-clock.ts";
import type { Timing } from "./timing.ts";
import { openWire, parseTarget } from "./wire.ts";

const LIMIT_TRIES = 8;
/** A delivery for an exact limit is sent in this part of a second, so that no clock has rounded it up yet. */
const EARLY_IN_SECOND_MS = { from: 10, to: 300, answeredBy: 450 };

/** What the user can give so that a check that needs it can be judged. */
export const NEEDS: Record<Need, string> = {
  observe:
    "Effects cannot be seen from outside. Give --observe 'http://…/{id}', an address that answers JSON with a number \"handled\" for an event id.",
  clock:
    "The receiver's clock can be moved only through a variable of its environment. Name it: --clock-variable NAME, which is given the seconds, or FAKETIME for libfaketime.",
  command:
    "Only a receiver that verify itself started can be killed. Give its command: verify --url URL -- COMMAND…",
};

/** Puts together what one check has at hand. */
export function createContext(options: {
  url: string;
  secret: string;
  seed: string;
  checkId: string;
  events: readonly EventType[];
  timing: Timing;
  /** How long an answer may take, asked for each delivery. */
  answerTimeoutMs: () => number;
  ledger: Ledger;
  clock: ReceiverClock;
  kills: KillRounds;
  clockVariable?: string | undefined;
  now: () => number;
  observe?: Observer | undefined;
  receiver?: ReceiverProcess | undefined;
}): CheckContext {
  const { checkId, clock, ledger, now, timing } = options;
  const target = parseTarget(options.url);
  const nowSeconds = (): number => Math.floor(now() / 1_000);
  const { answerTimeoutMs } = options;
  const { seed, events } = options;
  const material = createMaterial({ seed, scope: checkId, events, nowSeconds });
  // How many samples it takes differs from run to run, which must not change what else is sent.
  const samples = createMaterial({ seed, scope: `${checkId}/clock`, events, nowSeconds });

  const delivery = createDelivery({
    target,
    secret: options.secret,
    answerTimeoutMs,
    checkId,
    ledger,
    nowSeconds,
  });

  async function deliver(...parts: Parameters<typeof delivery.deliver>): Promise<Exchange> {
    const sentAtMs = now();
    const exchange = await delivery.deliver(...parts);
    clock.learn(exchange, sentAtMs);
    return exchange;
  }

  return {
    ...delivery,
    target,
    secret: options.secret,
    seed: options.seed,
    timing,
    answerTimeoutMs,
    events: options.events,
    ledger,
    deliver,
    clock,
    measureClock: () => clock.measure(() => deliver(samples.event())),
    nowSeconds,
    receiver: options.receiver,
    async moveClock(seconds) {
      const { receiver, clockVariable } = options;
      if (receiver === undefined || clockVariable === undefined) throw new Error("there is no clock to move");
      // libfaketime tells an offset from a point in time by its sign.
      const value = clockVariable === "FAKETIME" ? `+${seconds}` : String(seconds);
      return receiver.restart({ env: { [clockVariable]: value } });
    },
    kills: options.kills,
    event: (...parts) => material.event(...parts),
    open: () => openWire(target, answerTimeoutMs()),
    undocumented(envelope) {
      ledger.undocumented(envelope.id);
      return envelope;
    },
    later(earlier, type) {
      ledger.superseded(earlier.id);
      return material.event(type, earlier.data.object);
    },
    async withinOneSecond({ least, most }, send) {
      const { from, to, answeredBy } = EARLY_IN_SECOND_MS;
      const earliestMs = (): number => now() + least * 1_000;
      /** Within the second of the earliest that the receiver's clock may say; more than 1,000 when that has passed. */
      const latestIntoMs = (): number => (earliestMs() % 1_000) + (most - least) * 1_000;
      for (let tries = 0; tries < LIMIT_TRIES; tries += 1) {
        const intoSecondMs = earliestMs() % 1_000;
        if (intoSecondMs < from || latestIntoMs() > to) await sleep((1_000 - intoSecondMs + from) % 1_000);
        const second = Math.floor(earliestMs() / 1_000);
        const exchange = await send(second);
        const isSame = Math.floor(earliestMs() / 1_000) === second;
        if (exchange !== undefined && isSame && latestIntoMs() <= answeredBy) return exchange;
      }
      return undefined;
    },
    async waitUntil(condition, withinMs) {
      const dueAt = performance.now() + withinMs;
      while (!(await condition())) {
        if (performance.now() >= dueAt) return false;
        await sleep(20);
      }
      return true;
    },
    async handledNow(eventId) {
      return (await options.observe?.(eventId)) ?? { known: false, reason: NEEDS.observe };
    },
  };
}
