import { setTimeout as sleep } from "node:timers/promises";
import type { Envelope, EventType } from "../../shared/events.ts";
import type { ReceiverProcess } from "../processes/receiver-process.ts";
import { createDelivery, type Exchange } from "./delivery.ts";
import type { Ledger } from "./ledger.ts";
import { createMaterial } from "./material.ts";
import type { Observer, Reading } from "../observer/observer.ts";
import type { ReceiverClock } from "./receiver-clock.ts";
import type { Timing } from "./timing.ts";
import { openWire, parseTarget } from "./wire.ts";

/** `observe`: effects can be read back. `command`: we own the receiver's process. */
export type Need = "observe" | "command";

/** What the user can provide so that a check can be judged. */
export const NEEDS: Record<Need, string> = {
  observe:
    "Effects are not visible over HTTP. Give --observe 'http://…/{id}', an address that answers JSON with a number \"handled\" for an event id.",
  command:
    "Only a receiver that verify started can be killed. Give its command: verify --url URL -- COMMAND…",
};

export type CheckContext = ReturnType<typeof createContext>;

/** The context of one check. Events and ids are the same in each run with the same seed. */
export function createContext(options: {
  url: string;
  secret: string;
  seed: string;
  checkId: string;
  events: readonly EventType[];
  timing: Timing;
  /** How long an answer may take, evaluated for each delivery. */
  answerTimeoutMs: () => number;
  /** How much of the run is left. */
  leftMs?: () => number;
  ledger: Ledger;
  clock: ReceiverClock;
  now: () => number;
  observe?: Observer | undefined;
  receiver?: ReceiverProcess | undefined;
}) {
  const { checkId, clock, ledger, now, timing, answerTimeoutMs, seed, events } = options;
  const { leftMs = () => Number.POSITIVE_INFINITY } = options;
  const target = parseTarget(options.url);
  const nowSeconds = (): number => Math.floor(now() / 1_000);
  const material = createMaterial({ seed, scope: checkId, events, nowSeconds });
  const delivery = createDelivery({ ...options, target, nowSeconds });

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
    seed,
    timing,
    answerTimeoutMs,
    leftMs,
    /** The types that the endpoint is registered for. */
    events,
    ledger,
    deliver,
    /** What the Date headers of the answers tell about the receiver's clock. */
    clock,
    /** Wall time of this machine in milliseconds, and in whole seconds. */
    now,
    nowSeconds,
    receiver: options.receiver,
    /** An event of a type, with an id that no other check uses. */
    event: material.event,
    open: () => openWire(target, answerTimeoutMs()),
    /** Marks an event that a receiver need not act on, since its type is not documented. */
    undocumented: (envelope: Envelope): Envelope => {
      ledger.undocumented(envelope.id);
      return envelope;
    },
    /** A later event about the object of `earlier`: its effect may take the place of the earlier one's. */
    later: (earlier: Envelope, type: EventType): Envelope => {
      ledger.superseded(earlier.id);
      return material.event(type, earlier.data.object);
    },
    /** Polls until `condition` holds or `withinMs` have passed, at most until the run is over; whether it holds. */
    waitUntil: async (condition: () => Promise<boolean>, withinMs: number): Promise<boolean> => {
      const dueAt = performance.now() + Math.min(withinMs, leftMs());
      while (!(await condition())) {
        if (performance.now() >= dueAt) return false;
        await sleep(20);
      }
      return true;
    },
    /** Reads how often an event was handled up to now; unknown when nothing can be observed. */
    handledNow: async (eventId: string): Promise<Reading> => {
      return (await options.observe?.(eventId)) ?? { known: false, reason: NEEDS.observe };
    },
  };
}
