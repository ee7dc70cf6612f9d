import { Client, Pool } from "undici";
import { MAXIMUM_ATTEMPTS } from "../shared/retry-policy.ts";
import { createSimulator } from "../simulator/simulator.ts";
import { startEndpoint } from "./support/endpoint.ts";

/**
 * What a whole schedule costs: many deliveries to an endpoint that always fails, six attempts each, with the clock that
 * skips waiting; beside the same number of requests by the bare HTTP client, on kept connections and, as an attempt has
 * it, on a new one each. Run it with `npm run bench -- delivery`; `-- --deliveries 1000` makes it shorter.
 */
const DELIVERIES = numberOf("--deliveries") ?? 10_000;
const CONCURRENCY = 16;
const REQUESTS = DELIVERIES * MAXIMUM_ATTEMPTS;

const endpoint = await startEndpoint(500);
try {
  const body = await deliverAll(1);
  const warmUp = Math.min(2_000, REQUESTS);
  await bareKept(warmUp, body.sample);
  await bareFresh(warmUp, body.sample);

  const kept = await bareKept(REQUESTS, body.sample);
  report("bare client, connections kept", kept, kept);
  const fresh = await bareFresh(REQUESTS, body.sample);
  report("bare client, a connection each", fresh, kept);
  const simulator = await deliverAll(DELIVERIES);
  report(`simulator, ${DELIVERIES.toLocaleString("en")} dead deliveries`, simulator.tookMs, kept);
  process.stdout.write(
    `  The simulator takes ${(simulator.tookMs / kept).toFixed(1)} times as long as the bare client, ` +
      `${(simulator.tookMs / fresh).toFixed(1)} times as long where that connects for each request too.\n`,
  );
} finally {
  endpoint.close();
}

function report(name: string, tookMs: number, baseMs: number): void {
  const perSecond = Math.round(REQUESTS / (tookMs / 1000)).toLocaleString("en");
  process.stdout.write(
    `  ${name.padEnd(36)} ${REQUESTS.toLocaleString("en")} requests  ${(tookMs / 1000).toFixed(1).padStart(6)} s  ${perSecond.padStart(7)}/s  ${(tookMs / baseMs).toFixed(1)}×\n`,
  );
}

/** Lets events happen and their deliveries die; answers how long that took, and one of the bodies. */
async function deliverAll(deliveries: number): Promise<{ tookMs: number; sample: Buffer }> {
  const created = createSimulator({ clock: "manual", seed: 1, calls: 0 });
  if (!created.ok) throw new Error(created.message);
  const { simulator } = created;
  simulator.endpoints.register({ url: endpoint.url, eventTypes: ["call.completed"] });
  const emitted = simulator.events.emit({ type: "call.completed" }, deliveries);
  if (!emitted.ok) throw new Error(emitted.message);

  const startedMs = performance.now();
  simulator.clock.setMode("skip");
  await simulator.clock.run();
  const tookMs = performance.now() - startedMs;

  const { dead } = simulator.counts.deliveries().byState;
  if (dead !== deliveries) throw new Error(`${dead} of ${deliveries} deliveries are dead.`);
  const sample = emitted.emitted[0]?.event.body ?? Buffer.alloc(0);
  await simulator.close();
  return { tookMs, sample };
}

async function bareKept(requests: number, body: Buffer): Promise<number> {
  const url = new URL(endpoint.url);
  const pool = new Pool(url.origin, { connections: CONCURRENCY, pipelining: 1 });
  const tookMs = await inParallel(requests, async () => {
    const answer = await pool.request({ method: "POST", path: url.pathname, body });
    await answer.body.dump();
  });
  await pool.close();
  return tookMs;
}

async function bareFresh(requests: number, body: Buffer): Promise<number> {
  const url = new URL(endpoint.url);
  return inParallel(requests, async () => {
    const client = new Client(url.origin);
    const answer = await client.request({ method: "POST", path: url.pathname, body, reset: true });
    await answer.body.dump();
    await client.close();
  });
}

async function inParallel(times: number, action: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  let begun = 0;
  const worker = async () => {
    while (begun < times) {
      begun += 1;
      await action();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return performance.now() - startedMs;
}

function numberOf(option: string): number | undefined {
  const index = process.argv.indexOf(option);
  return index === -1 ? undefined : Number(process.argv[index + 1]);
}
