import { createAdvance } from "./advance.ts";
import type { Answer, Attempts, Outcome } from "./attempts.ts";
import { attemptRequest, type AttemptRequest } from "./attempt-request.ts";
import type { ScheduleClock } from "./clock.ts";
import type { Deliveries, Delivery } from "./deliveries.ts";
import type { Endpoint, Endpoints } from "./endpoints.ts";
import type { EventLog } from "./events.ts";
import { faultsOnAttempt, injectedFaults, type FaultName } from "./faults.ts";
import type { Journal } from "./journal.ts";
import type { Readings } from "./readings.ts";
import { createSettlement, settleInterrupted } from "./settlement.ts";
import type { WallTime } from "./wall-time.ts";

/** The port to the network: makes one HTTP request and never rejects. */
export type Send = (request: SendRequest) => Promise<SendResult>;

export type SendRequest = Pick<AttemptRequest, "headers" | "body"> & {
  url: string;
  /** How the answer is judged and what is done wrong on the wire. */
  answerMeans: Readings["answer_means"];
  faults: ReadonlySet<FaultName>;
  signal: AbortSignal;
};

export type Dispatcher = ReturnType<typeof createDispatcher>;

export type SendResult = { outcome: Outcome; durationMs: number; answer?: Answer };

/** Requests under way to one endpoint at a time: a slow one delays nobody but itself. */
const CONCURRENCY_PER_ENDPOINT = 16;

/** The longest sleep: a suspended machine or a set clock is noticed within this. */
const LONGEST_SLEEP_MS = 1_000;

/**
 * Makes the attempts when they are due and decides how each delivery goes on (SPEC §6 Retry policy). Due times are
 * stored; this only compares them with the schedule clock, so a restart or a suspended machine loses nothing and causes
 * no burst: what is overdue is attempted once.
 */
export function createDispatcher(options: {
  deliveries: Deliveries;
  attempts: Attempts;
  endpoints: Endpoints;
  events: EventLog;
  clock: ScheduleClock;
  wall: WallTime;
  journal: Journal;
  readings: () => Readings;
  send: Send;
  /** Makes a group of writes one: all of them are stored, or none. */
  transaction: <Result>(action: () => Result) => Result;
  /** Other business with a due time: when the next of it is due, and doing what is due by now. */
  agenda: { nextDueMs: () => number | undefined; run: (nowMs: number) => void };
  /** Called at every look at what is due, which are no more than a second apart. */
  onLook?: () => void;
}) {
  const { deliveries, attempts, endpoints, events, clock, wall, journal, transaction, agenda } = options;
  const inFlight = new Map<string, number>();
  const settledWaiters: (() => void)[] = [];
  const stopping = new AbortController();
  const settle = createSettlement({ deliveries, endpoints, readings: options.readings });
  const flights = new Set<Promise<void>>();
  let isPaused = false;
  let isAwake = false;
  let cancelSleep = () => {};
  const advance = createAdvance({
    clock,
    journal,
    nextDueMs,
    settled,
    wake,
    isStopped: () => stopping.signal.aborted,
  });

  /** Looks at what is due, soon; many calls in a row look once. */
  function wake(): void {
    if (isAwake || stopping.signal.aborted) return;
    isAwake = true;
    cancelSleep();
    setImmediate(() => {
      isAwake = false;
      if (!stopping.signal.aborted) work();
    });
  }

  function work(): void {
    options.onLook?.();
    if (!isPaused) startWhatIsDue();
    if (flights.size > 0) return sleep();
    const nextMs = nextDueMs();
    if (nextMs !== undefined && clock.mode === "skip" && !advance.isUnderWay() && !isPaused) {
      clock.moveTo(nextMs);
      journal.write({ kind: "clock.changed" });
      return wake();
    }
    for (const resolve of settledWaiters.splice(0)) resolve();
    sleep();
  }

  function startWhatIsDue(): void {
    const nowMs = clock.now();
    agenda.run(nowMs);
    for (const endpointId of deliveries.endpointsWithDue(nowMs)) {
      const free = CONCURRENCY_PER_ENDPOINT - (inFlight.get(endpointId) ?? 0);
      if (free <= 0) continue;
      const endpoint = endpoints.find(endpointId);
      if (endpoint === undefined) {
        abandon(endpointId);
        continue;
      }
      for (const delivery of deliveries.due(endpointId, nowMs, free)) start(delivery, endpoint);
    }
  }

  function sleep(): void {
    const nextMs = clock.mode === "manual" ? undefined : nextDueMs();
    const untilMs = nextMs === undefined ? LONGEST_SLEEP_MS : nextMs - clock.now();
    // Something overdue waits for a free place at its endpoint: the end of an attempt wakes us, not the clock.
    const delayMs = untilMs <= 0 ? LONGEST_SLEEP_MS : Math.min(untilMs, LONGEST_SLEEP_MS);
    cancelSleep();
    cancelSleep = wall.after(delayMs, wake);
  }

  function nextDueMs(): number | undefined {
    const times = [deliveries.nextDueMs(), agenda.nextDueMs()].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  function start(delivery: Delivery, endpoint: Endpoint): void {
    const event = events.find(delivery.eventId);
    if (event === undefined) throw new Error(`Delivery ${delivery.id} has no event ${delivery.eventId}.`);
    const number = delivery.attemptsMade + 1;
    const startedAtMs = clock.now();
    const readings = options.readings();
    const wallStartedAtMs = wall.nowMs();
    const faults = faultsOnAttempt(delivery.faults, number);
    const body = delivery.body ?? event.body;
    const request = attemptRequest({
      body,
      secret: endpoint.secret,
      number,
      wallNowMs: wallStartedAtMs,
      faults,
      readings,
    });

    // Recorded before it is sent: whatever happens to us now, the attempt is counted (at most six on the wire).
    transaction(() => {
      deliveries.take(delivery.id);
      attempts.open(delivery.id, {
        number,
        scheduledAtMs: delivery.nextAttemptAtMs ?? startedAtMs,
        startedAtMs,
        wallStartedAtMs,
        signatureTimestamp: request.signatureTimestamp,
        requestHeaders: request.headers,
        requestBody: request.body === body ? null : request.body,
      });
    });
    inFlight.set(endpoint.id, (inFlight.get(endpoint.id) ?? 0) + 1);
    journal.write({ kind: "attempt.started", deliveryId: delivery.id, number });

    const { url } = endpoint;
    const { signal } = stopping;
    const sent = { ...request, url, answerMeans: readings.answer_means, faults, signal };
    const flight = attempt(delivery, number, startedAtMs, sent).finally(() => flights.delete(flight));
    flights.add(flight);
  }

  async function attempt(
    delivery: Delivery,
    number: number,
    startedAtMs: number,
    request: SendRequest,
  ): Promise<void> {
    const startedMs = wall.monotonicMs();
    const { outcome, durationMs, answer } = await options.send(request);
    // It ended when its outcome was known, though reading the rest of the answer may have taken longer.
    const sinceEndMs = Math.max(0, Math.round(wall.monotonicMs() - startedMs - durationMs));
    const endedAtMs = Math.max(startedAtMs, clock.now() - sinceEndMs);
    inFlight.set(delivery.endpointId, (inFlight.get(delivery.endpointId) ?? 1) - 1);
    transaction(() => {
      attempts.close(delivery.id, number, { endedAtMs, durationMs, outcome, answer });
      const { id: deliveryId, endpointId } = delivery;
      const isInjected = injectedFaults(delivery.faults, number).length > 0;
      settle({ deliveryId, endpointId, number, startedAtMs, endedAtMs, outcome, isInjected });
    });
    journal.write({ kind: "attempt.ended", deliveryId: delivery.id, number });
    wake();
  }

  function abandon(endpointId: string): void {
    for (const deliveryId of deliveries.abandon(endpointId))
      journal.write({ kind: "delivery.changed", deliveryId });
  }

  /** Resolves when nothing is in flight and nothing is due now. */
  function settled(): Promise<void> {
    if (stopping.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      settledWaiters.push(resolve);
      wake();
    });
  }

  return {
    wake,
    /** Begins to work: first settles what an earlier life of the data file left open. */
    start(): void {
      transaction(() => settleInterrupted({ attempts, deliveries, settle, nowMs: clock.now() }));
      wake();
    },
    /** Moves schedule time by `seconds`, making every attempt that falls due on the way, in order of due time. */
    advance: advance.by,
    /** Moves schedule time to the next due time and makes the attempts that are due then. */
    advanceToNext: advance.toNext,
    /** Moves schedule time until nothing waits any more: every delivery is delivered or dead. */
    advanceUntilIdle: advance.untilIdle,
    /** Ends whatever still waits for an endpoint that is gone. */
    abandon,
    nextDueMs,
    settled,
    /** Waits for what is in flight, starts nothing meanwhile, and does `action` in between. */
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
    /** Begins no further attempt and ends those in flight as `interrupted`; resolves when they are recorded. */
    async stop(): Promise<void> {
      cancelSleep();
      stopping.abort();
      await Promise.all(flights);
      for (const resolve of settledWaiters.splice(0)) resolve();
    },
  };
}
