import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { openWire, type Outcome, parseTarget } from "../../simulator/verify/wire.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { startRawServer } from "../helpers/raw-server.ts";

const HEAD = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const MEBIBYTE = "x".repeat(1_024 * 1_024);
/** The time-out for receivers that use all of it: short, since the tests wait for it. */
const LIMIT_MS = 2_000;
/** The time-out for receivers that answer: long enough for a busy machine. */
const AMPLE_MS = 30_000;

/** Sends a request to a receiver with this answer; also returns the duration and the number of bytes read. */
async function ask(
  answer: (socket: Socket) => void,
  options: { request?: Buffer; onConnect?: boolean; limitMs?: number } = {},
): Promise<{ outcome: Outcome; tookMs: number; readBytes: () => number }> {
  let socketOf: Socket | undefined;
  const { onConnect = false } = options;
  const { url } = await startRawServer((socket) => answer((socketOf = socket)), { onConnect });
  const startedAt = performance.now();
  const wire = await openWire(parseTarget(url), options.limitMs ?? AMPLE_MS);
  await wire.write(options.request ?? Buffer.from("POST / HTTP/1.1\r\nHost: x\r\n\r\n"));
  // A body that can never become complete must end the wait before this limit.
  const outcome = await wire.answer({ bodyMs: AMPLE_MS });
  wire.close();
  return { outcome, tookMs: performance.now() - startedAt, readBytes: () => socketOf?.bytesWritten ?? 0 };
}

/** Writes `piece` as long as the client reads. */
function endlessly(socket: Socket, piece: string): void {
  const write = (): void => {
    if (!socket.destroyed) socket.write(piece, write);
  };
  write();
}

test.each([
  ["that says no length", ""],
  ["that says a length of 10^14", `Content-Length: ${"1".padEnd(15, "0")}\r\n`],
])("an endless body %s is left after a mebibyte", async (_, header) => {
  const { outcome, readBytes } = await ask((socket) => {
    socket.write(`${HEAD}${header}\r\n`);
    endlessly(socket, MEBIBYTE);
  });

  expect(outcome).toMatchObject({ kind: "answered", status: 200, complete: false });
  expect(readBytes()).toBeLessThan(64 * MEBIBYTE.length);
});

test.each([
  ["headers without end", HEAD, "X-More: 1\r\n".repeat(400)],
  ["one header without end", `${HEAD}X-More: `, "x".repeat(4_096)],
  ["a status line without end", "HTTP/1.1 200 ", "x".repeat(4_096)],
])("%s are not an answer", async (_, start, piece) => {
  const { outcome, readBytes } = await ask((socket) => {
    socket.write(start);
    endlessly(socket, piece);
  });

  const message = "The answer was not HTTP (the head is longer than 16 KiB).";
  expect(outcome).toEqual({ kind: "no_answer", error: "protocol", message });
  expect(readBytes()).toBeLessThan(64 * MEBIBYTE.length);
});

test("endless interim answers are not an answer, and do not delay the deadline", async () => {
  const flood = "HTTP/1.1 102 Processing\r\n\r\n".repeat(400);
  const { outcome } = await ask((socket) => endlessly(socket, flood), { limitMs: LIMIT_MS });
  expect(outcome).toEqual({ kind: "no_answer", error: "timeout", message: "No answer within 2 s." });
});

test.each([
  ["says nothing", () => undefined],
  ["drips interim answers", (socket: Socket) => drip(socket, "HTTP/1.1 102 Processing\r\n\r\n")],
  ["drips headers", (socket: Socket) => drip(socket, "X: 1\r\n", HEAD)],
])("a receiver that %s gets its time and no more", async (_, answer) => {
  const { outcome, tookMs } = await ask(answer, { limitMs: LIMIT_MS });

  expect(outcome).toEqual({ kind: "no_answer", error: "timeout", message: "No answer within 2 s." });
  expect(tookMs).toBeGreaterThanOrEqual(LIMIT_MS - 1);
  expect(tookMs).toBeLessThan(AMPLE_MS);
});

test("a receiver that never reads does not block the sender", async () => {
  const limitMs = 2_000;
  const options = { request: Buffer.alloc(16 * MEBIBYTE.length), onConnect: true, limitMs };
  const { outcome, tookMs } = await ask((socket) => void socket.pause(), options);

  expect(outcome).toEqual({ kind: "no_answer", error: "timeout", message: "No answer within 2 s." });
  // After three times as long the receiver would have closed its connection.
  expect(tookMs).toBeLessThan(limitMs * 3);
});

test("the answer of a receiver that has not read the whole body counts at once", async () => {
  const { outcome, tookMs } = await ask(
    (socket) => {
      socket.pause();
      socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
    },
    { request: Buffer.alloc(16 * MEBIBYTE.length), onConnect: true },
  );

  expect(outcome).toMatchObject({ kind: "answered", status: 413, complete: true });
  expect(tookMs).toBeLessThan(AMPLE_MS);
});

test("control: an ordinary answer in chunks, byte by byte and with trailers, is complete", async () => {
  const text = `HTTP/1.1 100 Continue\r\n\r\n${CHUNKED}5;x=1\r\nhello\r\nA\r\n, receiver\r\n0\r\nT: 1\r\n\r\n`;
  const { outcome } = await ask((socket) => {
    socket.setNoDelay(true);
    const bytes = text.split("");
    const next = (): void => {
      const byte = bytes.shift();
      if (byte !== undefined) socket.write(byte, () => setImmediate(next));
    };
    next();
  });

  expect(outcome).toMatchObject({ kind: "answered", status: 200, complete: true });
  expect(outcome.kind === "answered" && outcome.body.toString()).toBe("hello, receiver");
});

function drip(socket: Socket, piece: string, first = ""): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(piece), 20);
  socket.on("close", () => clearInterval(timer));
}

test.each([
  ["two lengths", "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok"],
  ["a space before a colon", "Server : x\r\nContent-Length: 2\r\n\r\nok"],
])(
  "a receiver that answers with %s passes no check, since nothing can be delivered to it",
  async (_, rest) => {
    const { url } = await startRawServer((socket) => void socket.end(HEAD + rest));
    const checks = CATALOGUE.filter(({ group }) => group === "acknowledgement");
    const report = await runChecks({ url, secret: "whsec_test", seed: "odd", checks, now: Date.now });
    expect(report.verdict).toBe("failed");
    expect(report.results.map(({ check, outcome }) => [check.id, outcome])).toEqual([
      ["preflight.reachable", "passed"],
      ["preflight.accepts", "failed"],
    ]);
    expect(report.results[1]?.explanation).toContain("the answer was not HTTP");
  },
);
