import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { get, idOf, newBody, post } from "./helpers/events.ts";
import { startTestReceiver, useReceiver, type TestReceiver } from "./helpers/receiver.ts";
import { startProcess } from "./helpers/process.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

const HOSTILE_RECEIVER = fileURLToPath(new URL("./helpers/receiver-with-worker.ts", import.meta.url));

/** Promise R7: whatever a handler does, acknowledgements go on. The handlers of these tests are in hostile-worker.ts. */

const HOSTILE = {
  environment: {
    RECEIVER_ROLE: "all",
    HANDLER_TIMEOUT_SECONDS: "1",
    WORKER_CONCURRENCY: "2",
    SHUTDOWN_TIMEOUT_SECONDS: "2",
  },
  workerFile: new URL("./hostile-worker.ts", import.meta.url),
};

describe("a handler", { timeout: 90_000 }, () => {
  test("that blocks its thread for ever delays no acknowledgement, and is ended", async () => {
    const receiver = await startTestReceiver(HOSTILE);
    const blocking = await send(receiver, "blocks");
    await stateOf(receiver, blocking, "claimed");
    // The worker is inside an endless loop now, and stays there for seconds.
    for (let more = 0; more < 20; more += 1) await send(receiver, "works");
    expect(await receiver.engine.ledger.find(blocking)).toMatchObject({ state: "claimed" });
    expect((await get(new URL("/healthz", receiver.url))).status).toBe(200);

    await until(
      () => receiver.logLines.join(""),
      (log) => log.includes("a handler blocks its process"),
    );
    const released = await stateOf(receiver, blocking, "pending");
    expect(released).toMatchObject({ attempts: 1, lastError: expect.stringContaining("vanished") });
    await until(
      () => receiver.engine.ledger.counts(),
      ({ byState }) => byState.done === 20,
    );
  });

  test("that blocks inside its transaction delays no acknowledgement either", async () => {
    const receiver = await startTestReceiver(HOSTILE);
    const blocking = await send(receiver, "blocks-in-transaction");
    await stateOf(receiver, blocking, "claimed");
    for (let more = 0; more < 20; more += 1) await send(receiver, "works");
    expect(await receiver.engine.ledger.find(blocking)).toMatchObject({ state: "claimed" });
  });

  const shared = useReceiver(HOSTILE);

  test.for(["exhausts-memory", "exits", "crashes-later"])(
    "that %s takes only its own process down",
    async (type) => {
      const receiver = shared();
      const restarts = await workerRestarts(receiver);
      const deadly = await send(receiver, type);
      const released = await stateOf(receiver, deadly, "pending", ({ attempts }) => attempts === 1);
      expect(released.lastError).toContain("vanished");
      const harmless = await send(receiver, "works");
      await stateOf(receiver, harmless, "done");
      expect(await workerRestarts(receiver)).toBeGreaterThan(restarts);
    },
  );

  test("that sends messages of its own to the parent process harms nobody", async () => {
    const receiver = shared();
    await stateOf(receiver, await send(receiver, "sends-strangely"), "done");
    await stateOf(receiver, await send(receiver, "works"), "done");
    expect((await get(new URL("/readyz", receiver.url))).status).toBe(200);
  });

  test("that blocks takes its process down with the receiver that was killed, and frees the files", async () => {
    const environment = {
      DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
      ...HOSTILE.environment,
      SHUTDOWN_TIMEOUT_SECONDS: "1",
      WORKER_FILE: HOSTILE.workerFile.href,
    };
    const killed = await startProcess({ environment, entry: HOSTILE_RECEIVER });
    const body = newBody("call.completed", { type: "blocks-in-transaction" });
    await post(killed.url, body);
    const look = async () =>
      (await get(`${killed.adminUrl}/inbox/${idOf(body)}`)).json() as Promise<{ state: string }>;
    await until(look, ({ state }) => state === "claimed");
    // The receiver alone: its handlers' process is left behind, and never reads that the channel was closed.
    process.kill(killed.child.pid!, "SIGKILL");
    await killed.exited;
    const next = await startProcess({ environment, entry: HOSTILE_RECEIVER });
    const harmless = newBody("call.completed", { type: "works" });
    expect((await post(next.url, harmless)).status).toBe(200);
    const handled = async () =>
      (await get(`${next.adminUrl}/inbox/${idOf(harmless)}`)).json() as Promise<{ state: string }>;
    expect(await until(handled, ({ state }) => state === "done")).toMatchObject({ handled: 1 });
  });

  test("that throws before its first await has failed like any other", async () => {
    const receiver = shared();
    const id = await send(receiver, "throws-synchronously");
    expect(await stateOf(receiver, id, "pending", ({ attempts }) => attempts === 1)).toMatchObject({
      lastError: "Error: at once",
    });
  });

  test("that never resolves has failed at its deadline, and too many of them get a new process", async () => {
    const receiver = await startTestReceiver(HOSTILE);
    const first = await send(receiver, "never-resolves");
    const failed = await stateOf(receiver, first, "pending", ({ attempts }) => attempts === 1);
    expect(failed.lastError).toContain("HANDLER_TIMEOUT_SECONDS");
    await send(receiver, "never-resolves");
    await until(
      () => receiver.logLines.join(""),
      (log) => log.includes("the handlers' process died"),
    );
    await stateOf(receiver, await send(receiver, "works"), "done");
  });
});

async function send({ url }: TestReceiver, type: string): Promise<string> {
  const body = newBody("call.completed", { type, data: { object: { object: "call" } } });
  const answer = await post(url, body);
  expect(answer.status).toBe(200);
  return idOf(body);
}

async function stateOf(
  { engine }: TestReceiver,
  id: string,
  state: string,
  also: (event: { attempts: number }) => boolean = () => true,
) {
  const event = await until(
    () => engine.ledger.find(id),
    (found) => found?.state === state && also(found),
  );
  return event!;
}

async function workerRestarts({ adminUrl }: TestReceiver): Promise<number> {
  const metrics = await (await get(`${adminUrl}/metrics`)).text();
  return Number(/^receiver_worker_restarts_total (\d+)$/m.exec(metrics)?.[1]);
}
