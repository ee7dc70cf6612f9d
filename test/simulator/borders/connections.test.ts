import type { RequestListener } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createBoundedServer } from "../../../simulator/bounded-server.ts";
import { listen } from "../../helpers/listen.ts";

/** What programs that nobody knows can make the simulator hold, before anything looks at who they are. */

const echo: RequestListener = (request, response) => {
  text(request).then(
    (body) => response.end(`[${request.url ?? ""} ${body}]`),
    () => undefined,
  );
};

async function start(...parameters: Parameters<typeof createBoundedServer>): Promise<() => Socket> {
  const { port } = await listen(createBoundedServer(...parameters));
  return () => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
}

/** Resolves to everything that a connection brought, once it has ended. */
async function untilEnd(socket: Socket): Promise<string> {
  let received = "";
  socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
  await new Promise((resolve) => socket.once("close", resolve));
  return received;
}

const posts = (count: number, body: string): string =>
  Array.from(
    { length: count },
    (_, at) =>
      `POST /${String(at + 1)} HTTP/1.1\r\nHost: x\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
  ).join("");

test("of requests that wait for no answer the first eight are answered, and the last answer says that it is the last", async () => {
  const socket = (await start(echo))();
  socket.write(posts(30, "a"));
  const received = await untilEnd(socket);
  expect(received.match(/\[.*?\]/g)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((at) => `[/${String(at)} a]`));
  const closing = received.split("HTTP/1.1 200").map((answer) => answer.includes("Connection: close"));
  expect(closing).toEqual([false, ...Array.from({ length: 7 }, () => false), true]);
});

test("the last of them may have a body that takes several pieces", async () => {
  const answers: (() => void)[] = [];
  const take = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
    const body = await text(request);
    answers.push(() => void response.end(`[${String(body.length)}]`));
    if (answers.length === 8) for (const answer of answers) answer();
  };
  const open = await start((request, response) => void take(request, response));
  const socket = open();
  socket.write(posts(7, "b") + posts(1, "b".repeat(30_000)));
  expect((await untilEnd(socket)).match(/\[.*?\]/g)).toEqual([...Array<string>(7).fill("[1]"), "[30000]"]);
});

test("who waits for answers may ask as often as it likes", async () => {
  const socket = (await start(echo))();
  for (let asked = 0; asked < 20; asked += 1) {
    const answer = new Promise<string>((resolve) =>
      socket.once("data", (bytes: Buffer) => resolve(bytes.toString())),
    );
    socket.write(posts(1, "c"));
    expect(await answer).toContain("[/1 c]");
  }
});

test("a request whose headers or body do not come is answered 408", async () => {
  const open = await start(echo, { headersTimeoutMs: 100, requestTimeoutMs: 200 });
  const [headers, body] = [open(), open()];
  headers.write("POST / HTTP/1.1\r\nHost: x\r\n");
  body.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1");
  const answers = await Promise.all([untilEnd(headers), untilEnd(body)]);
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 /);
});

test("a connection that says nothing, and one whose answer nobody reads, are closed", async () => {
  const large = Buffer.alloc(16_000_000);
  const closed: string[] = [];
  const open = await start(
    (request, response) => {
      response.once("close", () => closed.push(request.url ?? ""));
      if (request.url === "/slow") setTimeout(() => response.end("slow"), 400);
      else response.end(large);
    },
    { headersTimeoutMs: 100, unreadTimeoutMs: 100 },
  );
  const [silent, unread, slow] = [open(), open(), open()];
  unread.pause().write("GET /unread HTTP/1.1\r\nHost: x\r\n\r\n");
  slow.write("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await untilEnd(silent);
  // What takes us long is none of the client's doing.
  expect(await untilEnd(slow)).toContain("slow");
  await expect.poll(() => closed).toContain("/unread");
});

test("beyond the most connections a new one is closed, and the others stay", async () => {
  const open = await start(echo, { maximumConnections: 1 });
  const first = open();
  first.write(posts(1, "d"));
  await new Promise((resolve) => first.once("data", resolve));
  expect(await untilEnd(open())).toBe("");
  const answered = untilEnd(first);
  first.write("GET /still HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(await answered).toContain("[/still ]");
});
