import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { readAnswer } from "../receiver/helpers/raw.ts";
import { until } from "../receiver/helpers/until.ts";
import { connection, GET, gone, here, POST, start, startWaiting } from "./serving.ts";

describe("at the limit of connections", () => {
  test("the connection that has been idle longest is closed for a new one", async () => {
    const { ask } = await start(here, { maximumConnections: 3 });
    const [first, second, third] = [await ask(), await ask(), await ask()];
    await ask(first);
    const newcomer = await ask();
    await gone(second);
    expect([first, third, newcomer].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  test("one that is still sending its request is closed only if none is idle", async () => {
    const { begin, responses, port } = await startWaiting({ maximumConnections: 2 });
    const sending = await begin(POST);
    const idle = connection(port);
    await once(idle, "connect");
    const waiting = await begin();
    await gone(idle);
    expect(sending.destroyed).toBe(false);
    await begin();
    await gone(sending);
    expect(waiting.destroyed).toBe(false);
    const refused = connection(port);
    await gone(refused);
    responses[1]?.end("[2]");
    expect(await readAnswer(waiting)).toMatchObject({ status: 200, body: "[2]" });
  });
});

test("idle connections give way before the files that the process may open run out", async () => {
  const server = new URL("../../shared/server.ts", import.meta.url).href;
  const script = `import { serve } from ${JSON.stringify(server)};
    const { port } = await serve((_, response) => response.end("[1]"), { port: 0, host: "127.0.0.1" });
    console.log(port);`;
  const limited = `ulimit -n 100; exec "$0" --input-type=module-typescript --eval "$1"`;
  const child = spawn("bash", ["-c", limited, process.execPath, script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const [port] = await once(child.stdout, "data");
  const idle = Array.from({ length: 150 }, () => connection(Number(port)).resume());
  for (let asked = 0; asked < 10; asked += 1) {
    const socket = connection(Number(port));
    socket.write(GET);
    expect((await readAnswer(socket)).status).toBe(200);
  }
  expect(idle.filter(({ closed }) => !closed).length).toBeGreaterThan(20);
});

describe("on one connection", () => {
  test("eight pipelined requests are handled, and the last answer says that it is the last", async () => {
    let handled = 0;
    const { port } = await start((_request, response) => {
      handled += 1;
      response.end("[1]");
    });
    const socket = connection(port);
    socket.write(GET.repeat(5_000));
    const answers = (await text(socket)).split("HTTP/1.1 200").slice(1);
    expect(handled).toBe(8);
    expect(answers.map((answer) => answer.includes("Connection: close"))).toEqual([
      ...Array<boolean>(7).fill(false),
      true,
    ]);
  });

  test("the thousandth answer closes it, even if the client keeps sending", async () => {
    const { port } = await start(here);
    const socket = connection(port);
    let answers = 0;
    socket.on("data", (bytes: Buffer) => {
      answers += String(bytes).split("HTTP/1.1 200 OK").length - 1;
      socket.write(GET);
    });
    socket.write(GET);
    await once(socket, "close");
    expect(answers).toBe(1_000);
  });

  test("requests followed by garbage get exactly their own answers, even late", async () => {
    const { begin, responses } = await startWaiting();
    const socket = await begin(`${GET}${GET}garbage\r\n\r\n`);
    const received = text(socket);
    responses[0]?.once("close", () => responses[1]?.end("[two]")).end("[one]");
    expect((await received).match(/\[.*?\]|HTTP\/1.1 \d+/g)).toEqual([
      "HTTP/1.1 200",
      "[one]",
      "HTTP/1.1 200",
      "[two]",
    ]);
  });

  test("an answer that the client does not read ends it in time; one that takes us longer does not", async () => {
    const { begin, responses } = await startWaiting();
    const [unread, slow] = [await begin(), await begin()];
    for (const { socket } of responses) socket?.setTimeout(100);
    unread.pause();
    responses[0]?.end(Buffer.alloc(16_000_000));
    await until(() => responses[0]?.destroyed, Boolean);
    responses[1]?.end("[2]");
    expect((await readAnswer(slow)).body).toBe("[2]");
  });
});

test("a request that starts while the process is paused is answered, although its connection was idle for too long", async () => {
  const { ask } = await start(here, { keepAliveTimeout: 1 });
  const socket = await ask();
  const answer = readAnswer(socket);
  socket.write(GET.slice(0, 9));
  // Node.js adds a second to the announced keep-alive time.
  for (const untilMs = performance.now() + 1_200; performance.now() < untilMs;);
  setTimeout(() => socket.write(GET.slice(9)), 1);
  expect(await answer).toMatchObject({ status: 200 });
  await gone(socket);
});

test("a flood over many connections is handled in several turns of the event loop", async () => {
  let handledInTurn = 0;
  let most = 0;
  const { port, ask } = await start(
    (_request, response) => {
      if (handledInTurn === 0) setImmediate(() => (handledInTurn = 0));
      handledInTurn += 1;
      most = Math.max(most, handledInTurn);
      response.end("[1]");
    },
    { keepAliveTimeout: 120_000 },
  );
  const sockets = Array.from({ length: 100 }, () => connection(port));
  await Promise.all(sockets.map(async (socket) => ask(socket)));
  const answers = sockets.map(text);
  for (const socket of sockets) socket.write(GET.repeat(2_000));
  for (const answer of answers) expect((await answer).split("HTTP/1.1 200")).toHaveLength(9);
  expect(most).toBeLessThan(300);
});

describe("invalid HTTP", () => {
  test.for<[string, number, string, string]>([
    ["no HTTP", 400, "bad_request", "\u0016\u0003\u0001\r\n\r\n"],
    ["headers that are too large", 431, "headers_too_large", `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}`],
    ["a method that nobody knows", 405, "method_not_allowed", "SEND /webhooks HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a method for proxies", 405, "method_not_allowed", "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n"],
  ])("%s is answered %i %s, and the connection is gone soon", async ([, status, error, bytes]) => {
    const { port } = await start(here);
    // A peer that never ends its own side.
    const socket = connection(port, true);
    socket.write(bytes, "latin1");
    const answer = await readAnswer(socket);
    expect(answer).toMatchObject({ status, json: { error, message: expect.any(String) } });
    expect(answer.headers.get("connection")).toBe("close");
    expect(answer.headers.get("allow")).toBe(status === 405 ? "POST" : undefined);
    const talking = setInterval(() => socket.write("x"), 5);
    onTestFinished(() => clearInterval(talking));
    await gone(socket);
  });
});
