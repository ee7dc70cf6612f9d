import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { sampleEnvelope } from "../../shared/samples.ts";
import { loadOrderSchema, type LoadResult } from "./load-messages.ts";
import { headersFor } from "./signing-schemes.ts";

/**
 * The load, in its own process: signs every request in advance, reports that it is ready, and on command sends them over raw
 * sockets; each connection sends its next request when the last one is answered. An HTTP client would use more of the machine
 * than the server it measures.
 */
const [message] = await once(process, "message");
const order = loadOrderSchema.parse(message);
const { hostname, port } = new URL(order.url);
const requests = Array.from({ length: order.events }, () => request(order.url, order.scheme, order.secret));
process.send?.("ready");
await once(process, "message");
const result = await run(requests, { hostname, port: Number(port), connections: order.connections });
process.send?.(result, () => process.disconnect());

function request(url: string, scheme: string, secret: string): Buffer {
  const { host, pathname } = new URL(url);
  const unique = randomBytes(16).toString("hex");
  const envelope = sampleEnvelope("call.completed", { id: `evt_${unique}` });
  const body = Buffer.from(
    JSON.stringify({ ...envelope, data: { object: { ...envelope.data.object, id: `call_${unique}` } } }),
  );
  const headers = headersFor(scheme, { body, secret, timestampSeconds: Math.floor(Date.now() / 1_000) });
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    "Content-Type: application/json",
    `Content-Length: ${String(body.length)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}

async function run(
  requests: readonly Buffer[],
  to: { hostname: string; port: number; connections: number },
): Promise<LoadResult> {
  const latenciesMs = new Float64Array(requests.length);
  const statuses: Record<string, number> = {};
  let next = 0;
  let answered = 0;

  const sockets = await Promise.all(Array.from({ length: to.connections }, async () => opened(to)));
  const startedAtMs = performance.now();
  await Promise.all(sockets.map(async (socket) => converse(socket)));
  const tookMs = performance.now() - startedAtMs;
  const measured = latenciesMs.subarray(0, answered).toSorted();
  const at = (part: number): number => measured[Math.floor(measured.length * part)] ?? 0;
  return { tookMs, answered, statuses, p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999) };

  /** Sends on this connection until the receiver says that it closes it, and then on a new one. */
  async function converse(first: Socket): Promise<void> {
    await talk(first);
    while (next < requests.length) await talk(await opened(to));
  }

  async function talk(socket: Socket): Promise<void> {
    return new Promise((resolve) => {
      let sentAtMs = 0;
      let received = "";
      const send = (): void => {
        const bytes = requests[next];
        if (!bytes) {
          socket.destroy();
          return resolve();
        }
        next += 1;
        sentAtMs = performance.now();
        socket.write(bytes);
      };
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1");
        if (!isWhole(received)) return;
        latenciesMs[answered] = performance.now() - sentAtMs;
        answered += 1;
        const status = received.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        const isLast = /\r\nconnection: *close/i.test(received);
        received = "";
        if (!isLast) return send();
        socket.destroy();
        resolve();
      });
      socket.on("close", () => resolve());
      send();
    });
  }
}

/** Whether an answer with a Content-Length has arrived to its end. */
function isWhole(answer: string): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /\r\ncontent-length: *([0-9]+)/i.exec(answer);
  return answer.length >= end + 4 + Number(length?.[1] ?? 0);
}

async function opened({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port, noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}
