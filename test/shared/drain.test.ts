import { once } from "node:events";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { readAnswer } from "../receiver/helpers/raw.ts";
import { until } from "../receiver/helpers/until.ts";
import { connection, GET, gone, here, POST, start, startWaiting } from "./serving.ts";

test("a drain answers and closes earlier connections, and accepts no new one", async () => {
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

test("a drain closes remaining connections when its time is over, and not before", async () => {
  const { begin, drain } = await startWaiting();
  const socket = await begin();
  const startedAtMs = performance.now();
  await drain(1_000);
  expect(performance.now() - startedAtMs).toBeGreaterThan(950);
  await gone(socket);
});

test("a drain does not reset a client that sends again right after its answer", async () => {
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

test("a drain answers connections that the system, but not yet the program, had accepted before the port was closed", async () => {
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
