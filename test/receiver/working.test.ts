import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openEngine } from "../../receiver/engines/open.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { defineHandler } from "../../receiver/work/handler.ts";
import { startWorking } from "../../receiver/work/loop.ts";
import { accept, handler, newEvent } from "./engine-suite/harness.ts";
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
});
