import files from "node:fs/promises";
import { createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock, type Clock } from "../../receiver/clock.ts";
import { compose } from "../../receiver/compose.ts";
import type { AcceptResult, Engine } from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { startReceiver } from "../../receiver/receiver.ts";
import { freePort } from "../helpers/free-port.ts";
import { listen } from "../helpers/listen.ts";
import type { Answer } from "../../receiver/intake/answers.ts";
import { newBody, signatureFor } from "./helpers/events.ts";
import { handClock } from "./helpers/intake.ts";
import { knock } from "./helpers/raw.ts";
import { testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** How the parts hang together, with a worker and a database that do what the test says. */

async function composed(overrides: Partial<Engine["intake"]> = {}, clock: Clock = systemClock) {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  const happened: string[] = [];
  const stopped = Promise.withResolvers<void>();
  const receiver = await compose({
    config: testConfig({
      SHUTDOWN_TIMEOUT_SECONDS: "9",
      MIN_FREE_DISK_BYTES: "0",
      DATABASE_URL: `sqlite:${file}`,
    }),
    engine: { ...engine, intake: { ...engine.intake, ...overrides } },
    clock,
    log: createLog({ level: "silent" }),
    environment: {},
    startWork: async () => ({
      alive: () => true,
      wake: () => void happened.push("wake"),
      stop: async (graceMs) => {
        happened.push(`stop ${String(graceMs)}`);
        await stopped.promise;
      },
    }),
  });
  onTestFinished(async () => {
    stopped.resolve();
    await receiver.close();
  });
  const send = async (body = newBody()): Promise<number | undefined> => {
    const answers: Answer[] = [];
    await receiver.webhook(
      {
        method: "POST",
        path: "/webhooks",
        id: undefined,
        signatures: [signatureFor(body)],
        traceparent: undefined,
        encoding: undefined,
        announcedBytes: undefined,
        readBody: async () => ({ ok: true, bytes: body }),
      },
      (answer) => void answers.push(answer),
    );
    return answers[0]?.status;
  };
  return { receiver, happened, send, stopped };
}

test.each<[string, Partial<Engine["intake"]>, number, string[]]>([
  ["is stored", {}, 200, ["wake"]],
  [
    "is not",
    { accept: async (): Promise<AcceptResult> => ({ ok: false, reason: "full", detail: "" }) },
    503,
    [],
  ],
])("a worker is woken by what %s", async (_how, intake, status, happened) => {
  const world = await composed(intake);
  expect([await world.send(), world.happened]).toEqual([status, happened]);
});

test("a drain takes nothing more at once, and waits for what is being answered and for the worker alike", async () => {
  const committed = Promise.withResolvers<AcceptResult>();
  const { receiver, happened, send, stopped } = await composed({ accept: async () => committed.promise });
  const answered = send().then((status) => void happened.push(`answered ${String(status)}`));
  const drained = receiver.drain().then(() => void happened.push("drained"));
  expect(await send()).toBe(503);
  expect(happened).toEqual(["stop 6500"]);
  committed.resolve({ ok: true, acceptances: [{ duplicate: false }] });
  await answered;
  await new Promise(setImmediate);
  expect(happened).toEqual(["stop 6500", "wake", "answered 200"]);
  stopped.resolve();
  await drained;
  expect(happened.at(-1)).toBe("drained");
});

test("room on the disk is kept for as much again as was stored, and not for what came again", async () => {
  const [one, other] = [newBody(), newBody()];
  const free = { bavail: 5 * one.byteLength, bsize: 1 };
  const look = vi.spyOn(files, "statfs").mockImplementation(async () => free as never);
  syncBuiltinESMExports();
  onTestFinished(() => {
    look.mockRestore();
    syncBuiltinESMExports();
  });
  const clock = handClock();
  const { receiver, send } = await composed({}, clock);
  const isLow = async (): Promise<boolean> => {
    clock.pass(1_000);
    await new Promise(setImmediate);
    return receiver.health.diskLow();
  };
  expect(await isLow()).toBe(false);
  for (const status of [200, 200, 200]) expect(await send(one)).toBe(status);
  expect(await isLow()).toBe(false);
  expect(await send(other)).toBe(200);
  expect(await isLow()).toBe(true);
  expect(await send(other)).toBe(503);
});

test("a start that finds its port taken gives back the admin port and the database", async () => {
  const { port } = await listen(createServer());
  const adminPort = await freePort();
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  const settings = { PORT: String(port), ADMIN_PORT: String(adminPort), RECEIVER_ROLE: "ingest" };
  const started = startReceiver({
    config: testConfig(settings),
    engine,
    clock: systemClock,
    log: createLog({ level: "silent" }),
    environment: {},
  });
  await expect(started).rejects.toMatchObject({ code: "EADDRINUSE", port });
  expect(await knock(`http://127.0.0.1:${String(adminPort)}`)).toBe(false);
  expect(await engine.intake.probe()).toMatchObject({ ok: false, reason: "closed" });
});
