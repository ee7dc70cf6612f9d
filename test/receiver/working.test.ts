import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import timers from "node:timers";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { Engine } from "../../receiver/engine.ts";
import { openEngine } from "../../receiver/engines/open.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { defineHandler } from "../../receiver/work/handler.ts";
import { startWorking } from "../../receiver/work/loop.ts";
import { accept, handler, newEvent } from "./engine-suite/harness.ts";
import { idOf, newBody } from "./helpers/events.ts";
import { testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

const DAY_MS = 86_400_000;

/** Stores an event in the inbox `file` and has it handled, as long ago as it says. */
async function handleAgo(databaseFile: string, days: number): Promise<string> {
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() - days * DAY_MS };
  const engine = await openEngine({ databaseFile, databaseUrl: undefined, clock });
  const event = newEvent();
  await accept(engine, [event]);
  const processor = await engine.work.process({
    handlers: [handler({ name: "all" })],
    handle: async () => ({ kind: "done" }),
    workerId: `worker ${String(days)}`,
    concurrency: 1,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  await until(
    () => engine.ledger.find(event.id),
    (found) => found?.state === "done",
  );
  await processor.drain(0);
  await engine.close();
  return event.id;
}

test("who begins to work prunes at once, bodies and ids each by their own age", async () => {
  const databaseFile = join(temporaryDirectory(), "receiver.db");
  const ages = [450, 100, 20];
  const ids: string[] = [];
  for (const days of ages) ids.push(await handleAgo(databaseFile, days));
  const lines: string[] = [];
  const working = await startWorking({
    engine: await openEngine({ databaseFile, clock: systemClock }),
    config: testConfig({ DATABASE_URL: `sqlite:${databaseFile}` }),
    log: createLog({ level: "info", destination: { write: (line) => void lines.push(line) } }),
    handlers: [defineHandler({ name: "all", type: "*", handle: async () => undefined })],
    services: undefined,
    workerId: "the worker",
    predecessors: [],
    onHandled: () => undefined,
    onStuck: () => undefined,
  });
  await until(
    () => lines,
    ({ length }) => length > 0,
  );
  await working.stop(0);
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: "info", bodies: 2, ids: 1 });
  const engine = await openEngine({ databaseFile, databaseUrl: undefined, clock: systemClock });
  onTestFinished(engine.close);
  const states = await Promise.all(ids.map(async (id) => (await engine.ledger.find(id))?.state));
  expect(states).toEqual([undefined, "pruned", "done"]);

  const more = await pruned(databaseFile, { ID_RETENTION_DAYS: "60" });
  expect(more).toEqual([expect.objectContaining({ bodies: 0, ids: 1 })]);
  expect(await engine.ledger.find(ids[1]!)).toBeUndefined();
  // Nothing is said of nothing.
  expect(await pruned(databaseFile, { ID_RETENTION_DAYS: "60" })).toEqual([]);
});

/** Works for as long as it takes to prune, and answers what is logged of that. */
async function pruned(databaseFile: string, environment: Record<string, string>): Promise<object[]> {
  const lines: object[] = [];
  const real = await openEngine({ databaseFile, clock: systemClock });
  const over = Promise.withResolvers<void>();
  const prune: Engine["ledger"]["prune"] = async (older) =>
    real.ledger.prune(older).finally(() => setImmediate(over.resolve));
  const working = await work({ ...real, ledger: { ...real.ledger, prune } }, { environment, lines });
  await over.promise;
  await working.stop(0);
  return lines;
}

async function work(
  engine: Engine,
  { environment = {}, lines = [], handle = async (): Promise<void> => undefined }: Doing = {},
) {
  return startWorking({
    engine,
    config: testConfig({ DATABASE_URL: "sqlite:receiver.db", ...environment }),
    log: createLog({
      level: "info",
      destination: { write: (line) => void lines.push(JSON.parse(line) as object) },
    }),
    handlers: [defineHandler({ name: "all", type: "*", handle })],
    onHandled: () => undefined,
    onStuck: () => undefined,
  });
}

type Doing = { environment?: Record<string, string>; lines?: object[]; handle?: () => Promise<void> };

test("what a handler throws is kept without the receiver's own secrets, in the inbox and in the log", async () => {
  const databaseFile = join(temporaryDirectory(), "receiver.db");
  const engine = await openEngine({ databaseFile, clock: systemClock });
  const body = newBody();
  const event = newEvent({ id: idOf(body), body });
  await accept(engine, [event]);
  const lines: object[] = [];
  const environment = { API_BASE_URL: "https://api.example.com", API_KEY: "key_of_the_service_0003" };
  const handle = async (): Promise<void> => Promise.reject(new Error(`GET /?key=${environment.API_KEY}`));
  const working = await work(engine, { environment, lines, handle });
  const shown = await until(
    () => engine.ledger.find(event.id),
    (found) => found?.lastError != null,
  );
  expect(shown?.lastError).toBe("Error: GET /?key=[redacted]");
  await working.stop(0);
  expect(JSON.stringify(lines)).toContain("GET /?key=[redacted]");
});

test("who has stopped working prunes no more: its timers are given back", async () => {
  const set = vi.spyOn(timers, "setInterval");
  const clear = vi.spyOn(timers, "clearInterval");
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  const databaseFile = join(temporaryDirectory(), "receiver.db");
  const working = await work(await openEngine({ databaseFile, clock: systemClock }));
  expect(set.mock.calls.map(([, everyMs]) => everyMs)).toEqual([3_600_000]);
  expect(clear).not.toHaveBeenCalled();
  await working.stop(0);
  expect(clear.mock.calls).toEqual(set.mock.results.map(({ value }): unknown[] => [value]));
});

test("retention that fails is told of, and the work goes on", async () => {
  const lines: object[] = [];
  const real = await openEngine({
    databaseFile: join(temporaryDirectory(), "receiver.db"),
    clock: systemClock,
  });
  const prune = (): Promise<never> => Promise.reject(new Error("the disk is full"));
  const working = await work({ ...real, ledger: { ...real.ledger, prune } }, { lines });
  const body = newBody();
  await accept(real, [newEvent({ id: idOf(body), body })]);
  await until(
    () => lines,
    ({ length }) => length === 2,
  );
  await working.stop(0);
  expect(lines).toEqual([
    expect.objectContaining({
      level: "error",
      err: expect.objectContaining({ message: "the disk is full" }),
      msg: "retention failed; it is tried again in an hour",
    }),
    expect.objectContaining({ level: "info", outcome: "done" }),
  ]);
});
