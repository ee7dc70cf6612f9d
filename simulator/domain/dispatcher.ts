import { setImmediate } from "node:timers";
import { createAdvance } from "./advance.ts";
import type { Endpoints } from "./endpoints.ts";
import { createFlights, MOST_PER_TURN, type Departure, type FlightParts } from "./flights.ts";
import { createSettlement, settleInterrupted } from "./settlement.ts";

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** Maximum number of requests in progress to one endpoint by default; a slow endpoint delays no others. */
export const DEFAULT_CONCURRENCY = 16;

/** The longest sleep, within which a suspended machine or a changed clock is noticed. */
const LONGEST_SLEEP_MS = 1_000;

/** Makes attempts when they are due (SPEC §6). Due times are stored, so a restart or a suspended machine causes no burst. */
export function createDispatcher(
  options: FlightParts & {
    endpoints: Endpoints;
    concurrency: number;
    scenarios: { nextDueMs: () => number | undefined; run: (nowMs: number) => void };
    /** Called whenever due attempts are looked up, at least once a second. */
    onLook: () => void;
  },
) {
  const { deliveries, attempts, endpoints, clock, wall, journal, transaction, scenarios } = options;
  const settledWaiters: (() => void)[] = [];
  const stopping = new AbortController();
  const settle = createSettlement({ deliveries, endpoints, readings: options.readings });
  const { signal } = stopping;
  const flights = createFlights({ ...options, settle, onLanding: wake, signal });
  let isPaused = false;
  let isAwake = false;
  let cancelSleep = () => {};
  const walk = createAdvance({ ...options, nextDueMs, settled, wake, isStopped: () => signal.aborted });

  /** Looks up due attempts soon; many calls in a row look once. */
  function wake(): void {
    if (isAwake || signal.aborted) return;
    isAwake = true;
    cancelSleep();
    setImmediate(() => {
      isAwake = false;
      if (!signal.aborted) work();
    });
  }

  function work(): void {
    options.onLook();
    flights.turn(isPaused ? [] : whatIsDue());
    if (flights.any()) return sleep();
    const nextMs = nextDueMs();
    if (nextMs !== undefined && clock.mode === "skip" && !walk.isUnderWay() && !isPaused) {
      clock.moveTo(nextMs);
      journal.write({ kind: "clock.changed" });
      return wake();
    }
    for (const resolve of settledWaiters.splice(0)) resolve();
    sleep();
  }

  function whatIsDue(): Departure[] {
    const nowMs = clock.now();
    const most = options.readings().deliveries_at_once === "one" ? 1 : options.concurrency;
    scenarios.run(nowMs);
    return deliveries.endpointsWithDue(nowMs).flatMap((endpointId) => {
      const free = most - flights.to(endpointId);
      if (free <= 0) return [];
      if (free > MOST_PER_TURN) wake();
      const endpoint = endpoints.find(endpointId);
      if (endpoint === undefined) {
        abandon(endpointId);
        return [];
      }
      return deliveries
        .due(endpointId, nowMs, Math.min(free, MOST_PER_TURN))
        .map((delivery) => ({ delivery, endpoint }));
    });
  }

  function sleep(): void {
    const nextMs = clock.mode === "manual" ? undefined : nextDueMs();
    const untilMs = nextMs === undefined ? LONGEST_SLEEP_MS : nextMs - clock.now();
    // An overdue attempt waits for a free connection to its endpoint: the end of another attempt wakes us, not the clock.
    const delayMs = untilMs <= 0 ? LONGEST_SLEEP_MS : Math.min(untilMs, LONGEST_SLEEP_MS);
    cancelSleep();
    cancelSleep = wall.after(delayMs, wake);
  }

  function nextDueMs(): number | undefined {
    const times = [deliveries.nextDueMs(), scenarios.nextDueMs()].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  function abandon(endpointId: string): void {
    for (const deliveryId of deliveries.abandon(endpointId))
      journal.write({ kind: "delivery.changed", deliveryId });
  }

  /** Resolves when nothing is in flight and nothing is due now. */
  function settled(): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      settledWaiters.push(resolve);
      wake();
    });
  }

  return {
    wake,
    /** Starts: first settles the attempts that an earlier process left open. */
    start(): void {
      transaction(() => settleInterrupted({ attempts, deliveries, settle, nowMs: clock.now() }));
      wake();
    },
    walk,
    abandon,
    nextDueMs,
    isBusy: (nowMs: number): boolean =>
      flights.any() || (deliveries.nextDueMs() ?? Number.POSITIVE_INFINITY) <= nowMs,
    settled,
    /** Waits for requests in flight, starts none meanwhile, and then runs `action`. */
    async quiesce(action: () => void): Promise<void> {
      isPaused = true;
      try {
        await settled();
        action();
      } finally {
        isPaused = false;
        wake();
      }
    },
    /** Starts no further attempt and ends those in flight as `interrupted`; resolves when they are recorded. */
    async stop(): Promise<void> {
      cancelSleep();
      stopping.abort();
      await flights.returned();
      while (flights.any()) flights.turn([]);
      for (const resolve of settledWaiters.splice(0)) resolve();
    },
  };
}
