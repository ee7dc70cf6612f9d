import { rmSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../receiver/clock.ts";
import { workFileOf } from "../../receiver/engines/sqlite/work-file.ts";
import { get, idOf, newBody, post, SECRET } from "./helpers/events.ts";
import { startTestReceiver, useReceiver, type TestReceiver } from "./helpers/receiver.ts";
import { startProcess } from "./helpers/process.ts";
import { makeDirectory, temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";
import { ALL } from "../helpers/run/sizes.ts";

const HOSTILE_RECEIVER = fileURLToPath(new URL("./helpers/receiver-with-handlers.ts", import.meta.url));

/** Promise R7: whatever a handler does, acknowledgements go on. The handlers of these tests are in hostile-handlers.ts. */

/** The real time, to which a test adds what it would otherwise wait until a silent process is taken for blocked. */
let aheadMs = 0;
const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
/** More than a process may be silent, and far less than a handler may take. */
const BLOCKED_MS = 6_000;

const secrets = makeDirectory();
writeFileSync(join(secrets, "secret"), SECRET);
afterAll(() => rmSync(secrets, { recursive: true }));

const HOSTILE = {
  environment: {
    SIGNING_SECRET: "",
    SIGNING_SECRET_FILE: join(secrets, "secret"),
    RECEIVER_ROLE: "all",
    // What is through at once has no deadline to meet on a machine that does other things.
    HANDLER_TIMEOUT_SECONDS: "60",
    HANDLER_MEMORY_MEGABYTES: "64",
    WORKER_CONCURRENCY: "2",
    // What took a process along does not come back and take the next one along.
    MAX_ATTEMPTS: "1",
    SHUTDOWN_TIMEOUT_SECONDS: "1",
  },
  handlersModule: new URL("./hostile-handlers.mjs", import.meta.url),
};

describe("a handler", () => {
  const shared = useReceiver({ ...HOSTILE, clock });

  test.for(["blocks-in-transaction", ...(ALL ? ["blocks"] : [])])(
    "that %s for ever delays no acknowledgement, and is ended",
    async (type) => {
      const receiver = shared();
      const restarts = await workerRestarts(receiver);
      const blocking = await send(receiver, type);
      await stateOf(receiver, blocking, "claimed");
      // The worker is inside an endless loop now, and stays there.
      const others: string[] = [];
      for (let more = 0; more < 20; more += 1) others.push(await send(receiver, "works"));
      expect(await receiver.engine.ledger.find(blocking)).toMatchObject({ state: "claimed" });
      expect((await get(new URL("/healthz", receiver.url))).status).toBe(200);
      expect(await workerRestarts(receiver)).toBe(restarts);

      aheadMs += BLOCKED_MS;
      const released = await stateOf(receiver, blocking, "dead");
      expect(released).toMatchObject({ attempts: 1, lastError: expect.stringContaining("vanished") });
      expect(receiver.logLines.join("")).toContain("a handler blocks its process");
      for (const id of others) await stateOf(receiver, id, "done");
    },
  );

  const LONGER = [
    ["exhausts-memory", "vanished"],
    ["hoards-buffers", "vanished"],
    // Whose error it was is known, and so it is told what it said.
    ["crashes-later", "Error: nobody catches this"],
  ] as const;
  test.for([["exits", "vanished"] as const, ...(ALL ? LONGER : [])])(
    "that %s takes only its own process down",
    async ([type, error]) => {
      const receiver = shared();
      const restarts = await workerRestarts(receiver);
      const deadly = await send(receiver, type);
      const released = await stateOf(receiver, deadly, "dead");
      expect(released).toMatchObject({ attempts: 1, lastError: expect.stringContaining(error) });
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

  test.runIf(ALL)(
    "that blocks takes its process down with the receiver that was killed, and frees the files",
    async () => {
      const file = join(temporaryDirectory(), "receiver.db");
      const killed = await startProcess({
        environment: {
          DATABASE_URL: `sqlite:${file}`,
          ...HOSTILE.environment,
          HANDLERS_MODULE: HOSTILE.handlersModule.href,
        },
        entry: HOSTILE_RECEIVER,
      });
      const work = new Database(workFileOf(file), { timeout: 0 });
      onTestFinished(() => void work.close());
      await post(killed.url, newBody("call.completed", { type: "blocks-in-transaction" }));
      await until(
        () => isLocked(work),
        (locked) => locked,
      );
      // The receiver alone: its handlers' process is left behind, and never reads that the channel was closed.
      process.kill(killed.child.pid!, "SIGKILL");
      await killed.exited;
      expect(await isLocked(work)).toBe(true);
      await until(
        () => isLocked(work),
        (locked) => !locked,
      );
    },
  );

  test("is counted once for each attempt, however often its process tells of what it did", async () => {
    const receiver = shared();
    for (let more = 1; more <= 3; more += 1) {
      await stateOf(receiver, await send(receiver, "is-counted"), "done");
      const count = await until(
        () => counted(receiver, "is-counted"),
        (now) => now >= more,
      );
      expect(count).toBe(more);
    }
  });

  test("sees neither the secret nor the file that it stands in", async () => {
    const receiver = shared();
    const id = await send(receiver, "tells-secrets");
    expect(await stateOf(receiver, id, "dead")).toMatchObject({
      lastError: "Error: sees none",
    });
  });

  test("that throws before its first await has failed like any other", async () => {
    const receiver = shared();
    const id = await send(receiver, "throws-synchronously");
    expect(await stateOf(receiver, id, "dead")).toMatchObject({
      lastError: "Error: at once",
    });
  });

  test("that never resolves has failed once its process was replaced, five seconds after its deadline", async () => {
    const receiver = await startTestReceiver({
      ...HOSTILE,
      environment: { ...HOSTILE.environment, HANDLER_TIMEOUT_SECONDS: "1" },
      // To the receiver no time passes: it takes no process for blocked that the machine keeps waiting.
      clock: { ...systemClock, monotonicMs: () => 0 },
    });
    const restarts = await workerRestarts(receiver);
    const stuck = await send(receiver, "never-resolves");
    const failed = await stateOf(receiver, stuck, "dead");
    expect(failed).toMatchObject({
      attempts: 1,
      lastError: expect.stringContaining("HANDLER_TIMEOUT_SECONDS"),
    });
    await until(
      () => workerRestarts(receiver),
      (now) => now > restarts,
    );
    await stateOf(receiver, await send(receiver, "works"), "done");
  });
});

/** Whether somebody holds the write lock, and not only for a moment. */
async function isLocked(db: Database.Database): Promise<boolean> {
  const endMs = performance.now() + 300;
  while (performance.now() < endMs) {
    try {
      db.exec("BEGIN IMMEDIATE; ROLLBACK");
      return false;
    } catch {
      await systemClock.sleep(20);
    }
  }
  return true;
}

async function send({ url }: TestReceiver, type: string): Promise<string> {
  const body = newBody("call.completed", { type, data: { object: { object: "call" } } });
  const answer = await post(url, body);
  expect(answer.status).toBe(200);
  return idOf(body);
}

async function stateOf({ engine }: TestReceiver, id: string, state: string) {
  const event = await until(
    () => engine.ledger.find(id),
    (found) => found?.state === state,
  );
  return event!;
}

async function workerRestarts({ adminUrl }: TestReceiver): Promise<number> {
  const metrics = await (await get(`${adminUrl}/metrics`)).text();
  return Number(/^receiver_worker_restarts_total (\d+)$/m.exec(metrics)?.[1]);
}

/** Attempts of a handler that are done, as the metrics have them. */
async function counted({ adminUrl }: TestReceiver, handler: string): Promise<number> {
  const metrics = await (await get(`${adminUrl}/metrics`)).text();
  const line = new RegExp(
    `^receiver_handling_seconds_count\\{handler="${handler}",type="other",outcome="done"\\} (\\d+)$`,
    "m",
  );
  return Number(line.exec(metrics)?.[1] ?? 0);
}
