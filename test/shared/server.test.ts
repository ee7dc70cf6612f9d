import { spawn } from "node:child_process";
import { once } from "node:events";
import type { RequestListener, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../../shared/server.ts";
import { readAnswer } from "../receiver/helpers/raw.ts";
import { until } from "../receiver/helpers/until.ts";

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";

function connection(port: number, allowHalfOpen = false): Socket {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

async function gone(socket: Socket): Promise<void> {
  if (!socket.resume().closed) await new Promise((resolve) => socket.once("close", resolve));
}

async function start(handle: RequestListener, options: Partial<Parameters<typeof serve>[1]> = {}) {
  const { port, drain } = await serve(handle, { host: "127.0.0.1", port: 0, ...options });
  onTestFinished(async () => drain(0));
  const ask = async (socket = connection(port), request = GET): Promise<Socket> => {
    socket.write(request);
    expect(await readAnswer(socket)).toMatchObject({ status: 200 });
    return socket.resume();
  };
  return { port, drain, ask };
}

const here: RequestListener = (_request, response) => void response.end("[1]");

/** A server that answers only when the test does: `responses` has the open ones. */
async function startWaiting(options: Partial<Parameters<typeof serve>[1]> = {}) {
  const responses: ServerResponse[] = [];
  const started = await start((_request, response) => void responses.push(response), options);
  const begin = async (bytes = GET, socket = connection(started.port)): Promise<Socket> => {
    const before = responses.length;
    socket.write(bytes);
    await until(() => responses.length > before);
    return socket;
  };
  return { ...started, responses, begin };
}

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

describe("a drain", () => {
  test("answers and closes earlier connections, and accepts no new one", async () => {
    const { begin, responses, drain, port } = await startWaiting({ keepAliveTimeout: 600_000 });
    const [waiting, sending] = [await begin(), await begin(POST)];
    const idle = connection(port);
    const [first] = [await begin(GET, idle)];
    responses[2]?.end("[1]");
    await readAnswer(first);
    const drained = drain(600_000);
    await gone(idle);
    const refused = connect(port, "127.0.0.1");
    expect(await once(refused, "error")).toMatchObject([{ code: "ECONNREFUSED" }]);

    responses[0]?.end("[2]");
    sending.write("{}");
    responses[1]?.end("[3]");
    const answers = await Promise.all([waiting, sending].map(readAnswer));
    expect(answers).toMatchObject([{ body: "[2]" }, { body: "[3]" }]);
    expect(answers.map(({ headers }) => headers.get("connection"))).toEqual(["close", "close"]);
    for (const socket of [waiting, sending]) socket.end();
    await drained;
  });

  test("closes remaining connections when its time is over, and not before", async () => {
    const { begin, drain } = await startWaiting();
    const socket = await begin();
    const startedAtMs = performance.now();
    await drain(1_000);
    expect(performance.now() - startedAtMs).toBeGreaterThan(950);
    await gone(socket);
  });

  test("does not reset a client that sends again right after its answer", async () => {
    let served = 0;
    const { port, drain } = await start((_request, response) => {
      served += 1;
      response.end("[1]");
    });
    const bad: string[] = [];
    const client = async (): Promise<void> => {
      for (;;) {
        const socket = connect(port, "127.0.0.1");
        const came = await new Promise<string>((resolve) => {
          socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(code));
          socket.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1", 9, 12)));
          socket.once("close", () => resolve("closed"));
          socket.write(GET);
        });
        socket.destroy();
        if (came === "ECONNREFUSED") return;
        if (came !== "200") bad.push(came);
      }
    };
    const clients = Array.from({ length: 40 }, client);
    await until(() => served > 200, Boolean);
    await drain(15_000);
    await Promise.all(clients);
    expect(bad).toEqual([]);
  });

  test("answers connections that the system, but not yet the program, had accepted before the port was closed", async () => {
    const { port, drain } = await start(here);
    const state = new Int32Array(new SharedArrayBuffer(8));
    const clients = new Worker(
      `const { parentPort, workerData: { port, state } } = require("node:worker_threads");
       const { connect } = require("node:net");
       const ask = () => new Promise((resolve) => {
         let answer = "";
         connect(port, "127.0.0.1", function connected() { this.write("GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"); made += 1; })
           .on("data", (bytes) => (answer += bytes))
           .on("error", ({ code }) => resolve(code))
           .on("close", () => resolve(answer.slice(9, 12)));
       });
       let made = 0;
       parentPort.once("message", async () => {
         const answers = Array.from({ length: 8 }, ask);
         while (made < 8) await new Promise(setImmediate);
         Atomics.store(state, 0, 1);
         Atomics.notify(state, 0);
         parentPort.postMessage(await Promise.all(answers));
       });`,
      { eval: true, workerData: { port, state } },
    );
    onTestFinished(async () => void (await clients.terminate()));
    await once(clients, "online");
    const drained = drain(5_000);
    clients.postMessage("ask");
    // This thread accepts nothing until all are connected and the drain's time is over.
    Atomics.wait(state, 0, 0, 10_000);
    Atomics.wait(state, 1, 0, 200);
    expect(await once(clients, "message")).toEqual([Array.from({ length: 8 }, () => "200")]);
    await drained;
  });
});
