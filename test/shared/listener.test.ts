import type { RequestListener, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { createListener } from "../../shared/listener/index.ts";
import { standingClock } from "../receiver/helpers/clock.ts";
import { gone } from "../receiver/helpers/raw.ts";
import { until } from "../receiver/helpers/until.ts";

/** What holds for whatever is asked; how the receiver's requests fare is in test/receiver/connections.test.ts. */

const MEGABYTE = Buffer.alloc(1_000_000);

async function start(handle: RequestListener, options: Partial<Parameters<typeof createListener>[1]> = {}) {
  const { server, drain } = createListener(handle, { clock: systemClock, ...options });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => drain(0));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const open = (): Socket => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { server, open };
}

/** A server that leaves its answers to the test. */
async function startAnswering() {
  let take: (answer: ServerResponse) => void;
  const { server, open } = await start((_, response) => {
    // Two hundred times as fast as in earnest.
    response.setTimeout(server.timeout / 200);
    take(response);
  });
  return async (): Promise<{ socket: Socket; answer: ServerResponse }> => {
    const socket = open().pause();
    const asked = new Promise<ServerResponse>((resolve) => (take = resolve));
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    return { socket, answer: await asked };
  };
}

const post = (body: string): string =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`;

test("an answer of which nothing is taken for 20 s ends its connection; one that takes us longer does not", async () => {
  const ask = await startAnswering();
  const [slow, stream, unread] = [await ask(), await ask(), await ask()];
  stream.answer.write("data: 1\n\n");
  unread.answer.end(Buffer.concat(Array<Buffer>(16).fill(MEGABYTE)));
  await until(() => unread.answer.destroyed, Boolean);
  expect([slow.socket.destroyed, stream.socket.destroyed]).toEqual([false, false]);
  slow.answer.end("at last");
  slow.socket.resume();
  await until(() => slow.socket.bytesRead > 0, Boolean);
});

test("the last of eight requests that wait for no answer may have a body that takes several pieces", async () => {
  const answers: (() => void)[] = [];
  const take = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
    const body = await text(request);
    answers.push(() => void response.end(`[${String(body.length)}]`));
    if (answers.length === 8) for (const answer of answers) answer();
  };
  const { open } = await start((request, response) => void take(request, response));
  const socket = open();
  let received = "";
  socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
  socket.write(post("b").repeat(7) + post("b".repeat(30_000)) + post("b").repeat(30));
  await gone(socket);
  expect(received.match(/\[.*?\]/g)).toEqual([...Array<string>(7).fill("[1]"), "[30000]"]);
});

test("who waits for answers may ask as often as it likes", async () => {
  const { open } = await start((request, response) => void response.end(request.url));
  const socket = open();
  for (let asked = 0; asked < 20; asked += 1) {
    const answer = new Promise<string>((resolve) =>
      socket.once("data", (bytes: Buffer) => resolve(bytes.toString())),
    );
    socket.write(`GET /${String(asked)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await answer).toContain(`\r\n\r\n/${String(asked)}`);
  }
});

test("a connection on which nothing more is asked is closed", async () => {
  const { server, open } = await start((_, response) => void response.end());
  server.keepAliveTimeout /= 50;
  const socket = open().resume();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await gone(socket);
  expect(socket.bytesRead).toBeGreaterThan(0);
});

const USUAL = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000, timeout: 20_000 };

test.each([
  [{}, USUAL],
  [{ headersTimeout: 1_000 }, { ...USUAL, headersTimeout: 1_000 }],
  [{ requestTimeout: 60_000 }, { ...USUAL, requestTimeout: 60_000 }],
])("with the options %j clients have these times: %j", (options, times) => {
  const { server } = createListener(() => undefined, { clock: systemClock, ...options });
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = server;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual(times);
});

const CAPS = [
  { maximumPerAddress: 3 },
  { maximumConnections: 3 },
  { maximumPerAddress: 3, maximumConnections: 3 },
];

test.each(CAPS)(
  "however often connections replace each other, as many as before may be open: %j",
  async (limits) => {
    const { server, open } = await start((_, response) => void response.end("here"), limits);
    const accepted = async (): Promise<{ ours: Socket; theirs: Socket }> => {
      const connected = new Promise<Socket>((resolve) => server.once("connection", resolve));
      const ours = open().resume();
      return { ours, theirs: await connected };
    };
    const alive = (sockets: { theirs: Socket }[]) => sockets.map(({ theirs }) => !theirs.destroyed);
    for (let round = 0; round < 3; round += 1) {
      const sockets = [];
      for (let n = 0; n < 5; n += 1) sockets.push(await accepted());
      // The one that has been idle for the longest gave way to each of the last two.
      expect({ round, alive: alive(sockets) }).toEqual({ round, alive: [false, false, true, true, true] });
      for (const { ours, theirs } of sockets) {
        const closed = theirs.closed
          ? Promise.resolve()
          : new Promise((resolve) => theirs.once("close", resolve));
        ours.destroy();
        await closed;
      }
      const few = [await accepted(), await accepted(), await accepted()];
      expect({ round, alive: alive(few) }).toEqual({ round, alive: [true, true, true] });
      for (const { ours, theirs } of few) {
        const closed = new Promise((resolve) => theirs.once("close", resolve));
        ours.destroy();
        await closed;
      }
    }
  },
);

test.each([
  ["that cannot be read", "no HTTP\r\n\r\n"],
  ["with an answer that closes it", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
])("a connection %s leaves no timer once its client has closed it as well", async (_which, request) => {
  const clock = standingClock();
  const { server, open } = await start((_, response) => void response.end("here"), { clock });
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const socket = open().resume();
  socket.write(request);
  const theirs = await accepted;
  await gone(socket);
  await gone(theirs);
  expect(clock.waiting()).toBe(0);
});

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

test("each of several requests with garbage behind them gets its answer, however late", async () => {
  const answers: ServerResponse[] = [];
  const { open } = await start((_, response) => void answers.push(response));
  const socket = open();
  let received = "";
  socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
  socket.write(`${GET}${GET}garbage\r\n\r\n`);
  await until(
    () => answers.length,
    (count) => count === 2,
  );
  answers[0]?.end("[one]");
  await until(
    () => received,
    (text) => text.includes("[one]"),
  );
  answers[1]?.end("[two]");
  await gone(socket);
  expect(received.match(/\[.*?\]|HTTP\/1.1 \d+/g)).toEqual([
    "HTTP/1.1 200",
    "[one]",
    "HTTP/1.1 200",
    "[two]",
  ]);
});

test("a connection is idle from its answer on, and not since it was asked for", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const answers: ServerResponse[] = [];
  const { open } = await start((_, response) => void answers.push(response), {
    clock,
    maximumConnections: 2,
  });
  const ask = async (): Promise<Socket> => {
    const before = answers.length;
    const socket = open();
    socket.write(GET);
    await until(
      () => answers.length,
      (count) => count > before,
    );
    return socket;
  };
  const answered = async (socket: Socket, at: number): Promise<void> => {
    answers[at]?.end("here");
    await until(() => socket.bytesRead > 0 && answers[at]?.closed === true, Boolean);
  };
  const slow = await ask();
  nowMs = 5;
  const quick = await ask();
  await answered(quick.resume(), 1);
  nowMs = 10;
  await answered(slow.resume(), 0);
  nowMs = 11;
  await ask();
  await gone(quick);
  expect(slow.destroyed).toBe(false);
});
