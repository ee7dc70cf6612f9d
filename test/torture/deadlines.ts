import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { systemTime } from "../../simulator/domain/wall-time.ts";
import { wireHeaders } from "../../simulator/domain/attempt-request.ts";
import { createSender } from "../../simulator/sender/sender.ts";

/** An attempt keeps its deadline in real time against any endpoint. */

const DEADLINE_MS = 10_000;
const TOLERANCE_MS = 50;
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/** How an endpoint behaves, over which scheme, and the expected outcome. */
type Attempt = {
  name: string;
  scheme: "http" | "https";
  behave: (socket: Socket) => void;
  word: number | "timeout";
  answerMeans?: "headers" | "full_body";
};

const ENDPOINTS: Attempt[] = [
  {
    name: "an answer after 9.9 s",
    scheme: "http",
    behave: (socket) => later(9_900, () => socket.write(OK)),
    word: 200,
  },
  {
    name: "an answer after 10.1 s",
    scheme: "http",
    behave: (socket) => later(10_100, () => socket.write(OK)),
    word: "timeout",
  },
  { name: "a stall in the TLS handshake", scheme: "https", behave: () => {}, word: "timeout" },
  { name: "a stall before the answer", scheme: "http", behave: () => {}, word: "timeout" },
  {
    name: "a stall in the headers",
    scheme: "http",
    behave: (socket) => socket.write("HTTP/1.1 200 OK\r\n"),
    word: "timeout",
  },
  { name: "interim answers that drip", scheme: "http", behave: drip, word: "timeout" },
];

/** These keep this process busy, too, so they run one at a time. */
const FLOODS: Attempt[] = [
  {
    name: "a flood of interim answers",
    scheme: "http",
    behave: (socket) => flood(socket, "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000)),
    word: "timeout",
  },
  {
    name: "a body without end",
    scheme: "http",
    behave: (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n");
      flood(socket, "x".repeat(32_768));
    },
    word: "timeout",
    answerMeans: "full_body",
  },
];

async function deadline({ name, scheme, behave, word, answerMeans = "headers" }: Attempt): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}).resume());
    behave(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `${scheme}://127.0.0.1:${port}/`;
  const body = Buffer.from("{}");
  const { outcome, durationMs } = await createSender({ wall: systemTime, allowedHosts: [] })({
    url,
    headers: wireHeaders({ url, signature: "t=1,v1=00", body }),
    body,
    answerMeans,
    faults: new Set(),
    signal: new AbortController().signal,
  });
  for (const socket of sockets) socket.destroy();
  server.close();
  assert.equal("status" in outcome ? outcome.status : outcome.error, word, name);
  if (word === "timeout")
    assert.ok(Math.abs(durationMs - DEADLINE_MS) <= TOLERANCE_MS, `${name}: ${durationMs} ms`);
  process.stdout.write(`figure: ${name} = ${String(word)} after ${durationMs.toFixed(1)} ms\n`);
}

function later(delayMs: number, action: () => void): void {
  systemTime.after(delayMs, action);
}

function drip(socket: Socket): void {
  const more = () => {
    if (socket.writable) socket.write("HTTP/1.1 103 Early Hints\r\n\r\n", () => later(500, more));
  };
  more();
}

function flood(socket: Socket, piece: string): void {
  const more = () => {
    if (socket.writable) socket.write(piece, more);
  };
  more();
}

await Promise.all(ENDPOINTS.map((endpoint) => deadline(endpoint)));
for (const attempt of FLOODS) await deadline(attempt);
