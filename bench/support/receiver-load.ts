import { parentPort, workerData } from "node:worker_threads";
import { randomBytes } from "node:crypto";
import { Pool } from "undici";
import { sampleEnvelope } from "../../shared/samples.ts";
import { SIGNATURE_HEADER, sign } from "../../shared/signature.ts";

/** Sends signed, unique events from a thread of its own and answers the latencies in milliseconds. */
const { url, secret, events, connections } = workerData as {
  url: string;
  secret: string;
  events: number;
  connections: number;
};
const { origin, pathname } = new URL(url);
const timestampSeconds = Math.floor(Date.now() / 1_000);
const requests = Array.from({ length: events }, () => {
  const unique = randomBytes(16).toString("hex");
  const envelope = sampleEnvelope("call.completed", { id: `evt_${unique}` });
  const body = JSON.stringify({
    ...envelope,
    data: { object: { ...envelope.data.object, id: `call_${unique}` } },
  });
  return { body, signature: sign({ body, secret, timestampSeconds }) };
});

const pool = new Pool(origin, { connections, pipelining: 1 });
const latenciesMs: number[] = [];
let next = 0;
const startedAtMs = performance.now();
await Promise.all(
  Array.from({ length: connections }, async () => {
    for (;;) {
      const request = requests[next];
      if (!request) return;
      next += 1;
      const sentAtMs = performance.now();
      const answer = await pool.request({
        method: "POST",
        path: pathname,
        headers: { [SIGNATURE_HEADER]: request.signature },
        body: request.body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`answered ${String(answer.statusCode)}`);
      latenciesMs.push(performance.now() - sentAtMs);
    }
  }),
);
parentPort?.postMessage({ tookMs: performance.now() - startedAtMs, latenciesMs });
await pool.close();
