import { randomBytes } from "node:crypto";
import { Pool } from "undici";
import { RESPONSE_TIMEOUT_MS } from "../../shared/limits.ts";
import { SIGNATURE_HEADER, sign } from "../../shared/signature.ts";
import { classifyError } from "../sender/outcome.ts";
import { createEventSource } from "./events.ts";
import { createLatencies, type Latencies } from "./latencies.ts";

export type LoadPlan = {
  url: string;
  secret: string;
  durationMs: number;
  /** Requests under way at a time, each on a connection that is kept. */
  connections: number;
  /** Events a second, whatever the receiver makes of them; without it, as fast as the connections allow. */
  rate?: number;
  /** The share (0 to 1) of requests that repeat an event that was acknowledged before. */
  duplicates: number;
};

export type LoadResult = {
  /** From the first request to the last answer. */
  elapsedMs: number;
  sent: number;
  acknowledged: number;
  /** Of those sent, how many repeated an event. */
  duplicates: number;
  /** How many got which status or error, the acknowledged ones left out. */
  failures: Record<string, number>;
  /**
   * Of the acknowledged ones. With a rate they count from the moment at which the request was due, so that a receiver
   * that stalls cannot hide it by keeping the next requests from being sent.
   */
  latencies: Latencies;
  /** Due with the given rate, but never sent: too many were waiting already. */
  dropped: number;
};

/** With a rate: how many may be waiting for a free connection, for each connection. */
const MOST_WAITING_PER_CONNECTION = 200;

/** Sends signed events for a while and measures how they are acknowledged. Stops early when `signal` says so. */
export async function runLoad(
  plan: LoadPlan,
  options: { signal: AbortSignal; onProgress?: (result: Readonly<LoadResult>) => void },
): Promise<LoadResult> {
  const url = new URL(plan.url);
  const pool = new Pool(url.origin, {
    connections: plan.connections,
    pipelining: 1,
    connect: { timeout: RESPONSE_TIMEOUT_MS },
    headersTimeout: RESPONSE_TIMEOUT_MS,
    bodyTimeout: RESPONSE_TIMEOUT_MS,
  });
  const startedMs = performance.now();
  const result: LoadResult = {
    elapsedMs: 0,
    sent: 0,
    acknowledged: 0,
    duplicates: 0,
    failures: {},
    latencies: createLatencies(),
    dropped: 0,
  };
  const send = createShooter({ plan, url, pool, result });
  const ticker = setInterval(() => {
    result.elapsedMs = performance.now() - startedMs;
    options.onProgress?.(result);
  }, 250);
  try {
    if (plan.rate === undefined) await closedLoop(plan, send, startedMs, options.signal);
    else await openLoop({ ...plan, rate: plan.rate }, send, startedMs, options.signal, result);
  } finally {
    clearInterval(ticker);
    await pool.destroy();
  }
  result.elapsedMs = performance.now() - startedMs;
  return result;
}

type Shoot = (dueMs: number) => Promise<void>;

function createShooter(options: { plan: LoadPlan; url: URL; pool: Pool; result: LoadResult }): Shoot {
  const { plan, url, pool, result } = options;
  const nowSeconds = () => Math.floor(Date.now() / 1000);
  const source = createEventSource({ runId: randomBytes(8).toString("hex"), nowSeconds });
  const path = `${url.pathname}${url.search}`;
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

  return async (dueMs) => {
    const number = choose();
    const body = source.body(number);
    const signature = sign({ body, secret: plan.secret, timestampSeconds: nowSeconds() });
    result.sent += 1;
    try {
      const answer = await pool.request({
        method: "POST",
        path,
        headers: {
          "content-type": "application/json",
          [SIGNATURE_HEADER]: signature,
          "user-agent": "voice-agent-service/1.0",
        },
        body,
      });
      await answer.body.dump();
      if (answer.statusCode >= 200 && answer.statusCode <= 299) {
        result.acknowledged += 1;
        result.latencies.add(performance.now() - dueMs);
        lastAcknowledged = number;
      } else countFailure(result, String(answer.statusCode));
    } catch (error) {
      countFailure(result, errorWord(error));
    }
  };
}

function countFailure(result: LoadResult, word: string): void {
  result.failures[word] = (result.failures[word] ?? 0) + 1;
}

function errorWord(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.endsWith("_TIMEOUT")) return "timeout";
  const outcome = classifyError(error);
  return "error" in outcome ? outcome.error : "protocol";
}

async function closedLoop(
  plan: LoadPlan,
  send: Shoot,
  startedMs: number,
  signal: AbortSignal,
): Promise<void> {
  const endMs = startedMs + plan.durationMs;
  const worker = async () => {
    while (performance.now() < endMs && !signal.aborted) await send(performance.now());
  };
  await Promise.all(Array.from({ length: plan.connections }, worker));
}

/** Every request has its moment, and is sent then whether or not the ones before it were answered. */
async function openLoop(
  plan: LoadPlan & { rate: number },
  send: Shoot,
  startedMs: number,
  signal: AbortSignal,
  result: LoadResult,
): Promise<void> {
  const total = Math.max(1, Math.floor((plan.durationMs / 1000) * plan.rate));
  const mostWaiting = plan.connections * MOST_WAITING_PER_CONNECTION;
  const underWay = new Set<Promise<void>>();
  for (let index = 0; index < total && !signal.aborted; index += 1) {
    const dueMs = startedMs + (index * 1000) / plan.rate;
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
    else if (index % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (underWay.size >= mostWaiting) {
      result.dropped += 1;
      continue;
    }
    const flight = send(dueMs).finally(() => underWay.delete(flight));
    underWay.add(flight);
  }
  await Promise.all(underWay);
}
