import { Client } from "undici";
import { MAXIMUM_ATTEMPTS } from "../simulator/domain/retry-policy.ts";
import { createSimulator } from "../simulator/service/simulator.ts";
import { startEndpoint } from "./support/endpoint.ts";
import { createReport, whole } from "./support/report.ts";
import { inTurns, numberOf } from "./support/rounds.ts";

/**
 * The cost of a whole schedule: many deliveries to an endpoint that always fails, six attempts each, with the clock that
 * skips waiting; compared with the same number of requests by the bare HTTP client, each on a new connection, as attempts
 * have. Run it with `npm run bench -- delivery`; `--deliveries 1000 --rounds 1` makes it shorter.
 */
const DELIVERIES = numberOf("--deliveries") ?? 10_000;
const ROUNDS = numberOf("--rounds") ?? 3;
const CONCURRENCY = 16;
const REQUESTS = DELIVERIES * MAXIMUM_ATTEMPTS;
const BODY = Buffer.alloc(700, "x");

const endpoint = await startEndpoint(500);
const url = new URL(endpoint.url);
const report = createReport();
try {
  const { fresh, simulator } = await inTurns(ROUNDS, {
    fresh: bareFresh,
    simulator: deliverAll,
  });
  report.line(`${whole(REQUESTS)} requests, medians of ${ROUNDS} rounds in turns`);
  row("bare client, a connection each", fresh);
  row("simulator", simulator);
  report.held("simulator ÷ bare client, a connection each", simulator / fresh, { atMost: 1.5 });
  report.conclude();
} finally {
  endpoint.close();
}

function row(name: string, tookMs: number): void {
  const perSecond = whole(REQUESTS / (tookMs / 1000)).padStart(8);
  report.line(`${name.padEnd(32)} ${(tookMs / 1000).toFixed(1).padStart(7)} s ${perSecond}/s`);
}

/** Emits events and waits until their deliveries are dead; returns how long that took. */
async function deliverAll(): Promise<number> {
  const created = createSimulator({ clock: "manual", seed: 1, calls: 0 });
  if (!created.ok) throw new Error(created.message);
  const { simulator } = created;
  simulator.endpoints.register({ url: endpoint.url, eventTypes: ["call.completed"] });
  const emitted = simulator.events.emit({ type: "call.completed" }, DELIVERIES);
  if (!emitted.ok) throw new Error(emitted.message);

  const startedMs = performance.now();
  simulator.clock.setMode("skip");
  await simulator.clock.run();
  const tookMs = performance.now() - startedMs;

  const { dead } = simulator.counts.deliveries().byState;
  if (dead !== DELIVERIES) throw new Error(`${dead} of ${DELIVERIES} deliveries are dead.`);
  await simulator.close();
  return tookMs;
}

async function bareFresh(): Promise<number> {
  return inParallel(async () => {
    const client = new Client(url.origin);
    const answer = await client.request({ method: "POST", path: url.pathname, body: BODY, reset: true });
    await answer.body.dump();
    await client.close();
  });
}

async function inParallel(action: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  let begun = 0;
  const worker = async () => {
    while (begun < REQUESTS) {
      begun += 1;
      await action();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return performance.now() - startedMs;
}
