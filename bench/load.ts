import autocannon from "autocannon";
import { sampleEnvelope } from "../shared/samples.ts";
import { runLoad } from "../simulator/load/run.ts";
import { startEndpoint } from "./support/endpoint.ts";

/**
 * What the load generator can send, beside autocannon against the same endpoint with as many connections: ours makes and
 * signs an event of its own for each request, autocannon repeats one body. Run it with `npm run bench -- load`.
 */
const SECONDS = 5;
const CONNECTIONS = 50;

const endpoint = await startEndpoint(200);
try {
  await ours(1);
  const yardstick = await autocannons(SECONDS);
  const own = await ours(SECONDS);
  report("autocannon, one body again and again", yardstick, yardstick);
  report("load, unique and signed", own, yardstick);
} finally {
  endpoint.close();
}

function report(name: string, perSecond: number, base: number): void {
  const rate = Math.round(perSecond).toLocaleString("en").padStart(7);
  process.stdout.write(`  ${name.padEnd(38)} ${rate} requests/s  ${(perSecond / base).toFixed(2)}×\n`);
}

async function ours(seconds: number): Promise<number> {
  const result = await runLoad(
    {
      url: endpoint.url,
      secret: "whsec_bench",
      durationMs: seconds * 1000,
      connections: CONNECTIONS,
      duplicates: 0,
    },
    { signal: new AbortController().signal },
  );
  return result.acknowledged / (result.elapsedMs / 1000);
}

async function autocannons(seconds: number): Promise<number> {
  const result = await autocannon({
    url: endpoint.url,
    connections: CONNECTIONS,
    duration: seconds,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(sampleEnvelope("call.completed")),
  });
  return result["2xx"] / result.duration;
}
