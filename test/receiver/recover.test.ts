import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { Engine } from "../../receiver/engine.ts";
import { openSqliteEngine } from "../../receiver/engines/sqlite/index.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";
import { newBody, post } from "./helpers/events.ts";
import { handler, newEvent } from "./engine-suite/harness.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

test.each([
  ["--handle-again", "2 events are pending, 0 done."],
  ["--consider-handled", "0 events are pending, 2 done."],
])("recover %s begins a lost work file anew, and says what it holds then", async (word, line) => {
  const receiver = await startTestReceiver();
  for (const body of [newBody(), newBody()]) expect((await post(receiver.url, body)).status).toBe(200);
  await receiver.stop();
  const file = receiver.config.databaseFile ?? "";
  rmSync(file.replace(/\.db$/, ".work.db"));
  const environment = { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "whsec_long_enough_for_all" };

  expect(await runReceiver(["inbox", "stats"], environment)).toMatchObject({
    code: 3,
    err: expect.stringContaining(`recover ${word}`),
  });
  expect(await runReceiver(["recover", word], environment)).toMatchObject({ code: 0, out: `${line}\n` });
  // Nothing is lost any more: whatever is said now changes nothing.
  expect((await runReceiver(["recover", "--handle-again"], environment)).out).toBe(`${line}\n`);
});

test("recover goes on with what is left of an inbox that has lost its newest events, and repeats nothing", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openSqliteEngine({ file, clock: systemClock });
  const handled: string[] = [];
  const stepsOfAnother: string[] = [];
  const work = async (of: Engine): Promise<void> => {
    const processor = await of.work.process({
      handlers: [handler(), handler({ name: "second" })],
      workerId: String(handled.length),
      concurrency: 4,
      handle: async ({ id, steps }) => {
        handled.push(id);
        stepsOfAnother.push(...[await steps.find("step")].filter((made) => made !== undefined));
        await steps.record("step", JSON.stringify(id));
        // What is dead keeps its steps.
        return id === lost.id ? { kind: "dead", error: "no" } : { kind: "done" };
      },
      onHandled: () => undefined,
      onTrouble: () => undefined,
    });
    await until(
      () => of.ledger.counts(),
      ({ byState }) => byState.pending + byState.claimed === 0,
    );
    await processor.drain(0);
  };
  const [forgotten, kept, lost, later] = [newEvent(), newEvent(), newEvent(), newEvent()];
  await engine.intake.accept([forgotten]);
  await work(engine);
  await engine.ledger.prune({ bodiesOlderThanMs: -60_000, idsOlderThanMs: 1e12 });
  await engine.intake.accept([kept]);
  await engine.ledger.backup?.(join(file, "..", "earlier"));
  await engine.intake.accept([lost]);
  await work(engine);
  await engine.close();
  // As if its write-ahead log had gone with a restart of the machine.
  copyFileSync(join(file, "..", "earlier", "receiver.db"), file);
  for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  await expect(openSqliteEngine({ file, clock: systemClock })).rejects.toThrow(
    /lost its newest.*--handle-again/s,
  );
  const environment = { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "whsec_long_enough_for_all" };
  expect(await runReceiver(["recover", "--handle-again"], environment)).toMatchObject({
    code: 0,
    out: "0 events are pending, 1 done.\n",
  });
  const again = await openSqliteEngine({ file, clock: systemClock });
  onTestFinished(again.close);
  expect(await again.ledger.check?.()).toEqual([]);
  await again.intake.accept([later]);
  await work(again);
  expect(handled.splice(0, 2)).toEqual([forgotten.id, forgotten.id]);
  expect(handled).toEqual([kept.id, kept.id, lost.id, lost.id, later.id, later.id]);
  expect(stepsOfAnother).toEqual([]);
  expect(await again.ledger.find(lost.id)).toBeUndefined();
});
