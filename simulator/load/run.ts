import { randomBytes } from "node:crypto";
import { RESPONSE_TIMEOUT_MS } from "../domain/limits.ts";
import { isSuccess } from "../domain/judgement.ts";
import { createTurns } from "../sender/turns.ts";
import { untilAborted } from "../processes/until-aborted.ts";
import { createLane, type Ending } from "./lane.ts";
import { createLatencies, type Latencies } from "./latencies.ts";
import { createRequests } from "./requests.ts";

export type LoadPlan = {
  url: string;
  secret: string;
  allowedHosts?: readonly string[];
  durationMs: number;
  /** Requests under way at a time, each on a connection that is kept. */
  connections: number;
  /** Events a second, whether or not the receiver keeps up; without it, as fast as the connections allow. */
  rate?: number | undefined;
  /** The share (0 to 1) of requests that repeat an event that was acknowledged before. */
  duplicates: number;
};

export type LoadResult = {
  elapsedMs: number;
  /** Completed requests, without those that an interruption cut off. */
  sent: number;
  acknowledged: number;
  duplicates: number;
  /** The number of requests by status or error, without the acknowledged ones. */
  failures: Record<string, number>;
  /** Of the acknowledged ones; with a rate, from the time a request was due, so that a stall shows. */
  latencies: Latencies;
  /** Due at the given rate, but never sent, since too many were waiting. */
  dropped: number;
};

/** With a rate: how many may be waiting for a free connection, for each connection. */
const MOST_WAITING_PER_CONNECTION = 200;
const LOOK_EVERY_MS = 50;
const PROGRESS_EVERY_MS = 250;

/** Sends signed events for a while and measures how they are acknowledged. Ends at once when `signal` aborts. */
export async function runLoad(
  plan: LoadPlan,
  options: { signal: AbortSignal; onProgress?: (result: Readonly<LoadResult>) => void },
): Promise<LoadResult> {
  const { signal, onProgress } = options;
  const result: LoadResult = {
    elapsedMs: 0,
    sent: 0,
    acknowledged: 0,
    duplicates: 0,
    failures: {},
    latencies: createLatencies(),
    dropped: 0,
  };
  const lanes = createLanes(plan, result);
  const startedMs = performance.now();
  const endingLate = setInterval(() => lanes.endLate(), LOOK_EVERY_MS);
  const telling = setInterval(() => {
    result.elapsedMs = performance.now() - startedMs;
    onProgress?.(result);
  }, PROGRESS_EVERY_MS);
  try {
    const { rate } = plan;
    const work =
      rate === undefined
        ? asFastAsPossible(plan, lanes, startedMs, signal)
        : atRate({ ...plan, rate }, { lanes, startedMs, signal, result });
    await Promise.race([work, untilAborted(signal)]);
  } finally {
    clearInterval(endingLate);
    clearInterval(telling);
    lanes.close();
  }
  result.elapsedMs = performance.now() - startedMs;
  return result;
}

type Lanes = ReturnType<typeof createLanes>;

function createLanes(plan: LoadPlan, result: LoadResult) {
  const url = new URL(plan.url);
  const turns = createTurns();
  const { secret, allowedHosts = [] } = plan;
  const runId = randomBytes(8).toString("hex");
  const requests = createRequests({ url, secret, runId, nowSeconds: () => Math.floor(Date.now() / 1000) });
  const nowMs = () => performance.now();
  const all = Array.from({ length: plan.connections }, () =>
    createLane({ url, allowedHosts, turns, timeoutMs: RESPONSE_TIMEOUT_MS, nowMs }),
  );
  let next = 0;
  let lastAcknowledged: number | undefined;
  let owedDuplicates = 0;

  /** Spread evenly, so that a short run has its share too. */
  function choose(): number {
    owedDuplicates += plan.duplicates;
    if (owedDuplicates < 1 || lastAcknowledged === undefined) return next++;
    owedDuplicates -= 1;
    result.duplicates += 1;
    return lastAcknowledged;
  }

  function count(number: number, dueMs: number, ending: Ending): void {
    result.sent += 1;
    if (typeof ending === "number" && isSuccess(ending)) {
      result.acknowledged += 1;
      result.latencies.add(performance.now() - dueMs);
      lastAcknowledged = number;
    } else result.failures[ending] = (result.failures[ending] ?? 0) + 1;
  }

  return {
    all,
    /** Sends one request, which was due at `dueMs`, on a free lane; then calls `then`. */
    send(lane: (typeof all)[number], dueMs: number, then: () => void): void {
      const number = choose();
      lane.send(requests.bytes(number), (ending) => {
        count(number, dueMs, ending);
        then();
      });
    },
    endLate(): void {
      for (const lane of all) lane.endLate();
    },
    close(): void {
      for (const lane of all) lane.close();
    },
  };
}

async function asFastAsPossible(plan: LoadPlan, lanes: Lanes, startedMs: number, signal: AbortSignal) {
  const endMs = startedMs + plan.durationMs;
  const runs = lanes.all.map(async (lane) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const again = (): void => {
      const nowMs = performance.now();
      if (nowMs >= endMs || signal.aborted) return resolve();
      lanes.send(lane, nowMs, again);
    };
    again();
    return promise;
  });
  await Promise.all(runs);
}

/** Every request has its time, and is sent then or as soon as a lane is free, independent of earlier requests. */
async function atRate(
  plan: LoadPlan & { rate: number },
  context: { lanes: Lanes; startedMs: number; signal: AbortSignal; result: LoadResult },
): Promise<void> {
  const { lanes, startedMs, signal, result } = context;
  const total = Math.max(1, Math.floor((plan.durationMs / 1000) * plan.rate));
  const mostWaiting = plan.connections * MOST_WAITING_PER_CONNECTION;
  const free = [...lanes.all];
  /** When the requests were due that wait for a lane; those before `served` have got one. */
  const waiting: number[] = [];
  let served = 0;
  const drained = Promise.withResolvers<void>();
  let isFed = false;

  const settle = () => {
    if (isFed && served === waiting.length && free.length === lanes.all.length) drained.resolve();
  };
  const serve = (): void => {
    while (served < waiting.length) {
      const lane = free.pop();
      if (lane === undefined) return;
      const dueMs = waiting[served++] ?? startedMs;
      lanes.send(lane, dueMs, () => {
        free.push(lane);
        serve();
        settle();
      });
    }
  };

  for (let index = 0; index < total && !signal.aborted; index += 1) {
    const dueMs = startedMs + (index * 1000) / plan.rate;
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
    else if (index % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (served > mostWaiting) {
      waiting.splice(0, served);
      served = 0;
    }
    if (waiting.length - served >= mostWaiting) result.dropped += 1;
    else waiting.push(dueMs);
    serve();
  }
  isFed = true;
  settle();
  await drained.promise;
}
