import Database from "better-sqlite3";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { openEngine } from "../../receiver/engines/open.ts";
import { workFileOf } from "../../receiver/engines/sqlite/work-file.ts";
import { handler } from "./engine-suite/harness.ts";
import { idOf, newBody } from "./helpers/events.ts";
import { runCommand } from "./helpers/process.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

/** An inbox with a job of the shipped handler that is dead. */
async function deadJob() {
  const file = join(temporaryDirectory(), "receiver.db");
  const engine = await openEngine({ databaseFile: file, clock: systemClock });
  onTestFinished(engine.close);
  const body = newBody();
  const id = idOf(body);
  await engine.intake.accept([
    { id, type: "call.completed", objectId: null, source: "webhook", body, trace: null },
  ]);
  const processor = await engine.work.process({
    handlers: [handler({ name: "log-call", types: ["call.completed"] })],
    handle: async () => ({ kind: "dead", error: "the till was closed" }),
    workerId: "test",
    concurrency: 1,
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  const job = async () => (await engine.ledger.find(id))?.jobs[0];
  await until(job, (found) => found?.state === "dead");
  await processor.drain(0);
  const run = async (...words: string[]) =>
    runCommand(["inbox", "run", ...words], { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "s" });
  const calls = (): unknown => {
    const db = new Database(workFileOf(file));
    onTestFinished(() => void db.close());
    return db.prepare("SELECT event_id FROM call_log").all();
  };
  return { id, job, run, calls };
}

test("a dead job is run here and now, and is done with what its handler wrote", async () => {
  const { id, job, run, calls } = await deadJob();
  expect(await run(id, "--handler", "log-call")).toMatchObject({
    code: 0,
    stdout: "done  log-call, attempt 1\n",
  });
  expect(await job()).toMatchObject({ state: "done", handled: 1 });
  expect(calls()).toEqual([{ event_id: id }]);
  const again = await run(id);
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toContain("log-call is done with this event");
});

test("for show it runs on a database of its own, and the job is as dead as it was", async () => {
  const { id, job, run } = await deadJob();
  const shown = await run(id, "--dry-run", "--json");
  expect(shown.code).toBe(0);
  expect(JSON.parse(shown.stdout)).toEqual({ handler: "log-call", outcome: "done", attempt: 1 });
  expect(shown.stderr).toContain("call logged");
  expect(await job()).toMatchObject({ state: "dead", lastError: "the till was closed", attempts: 1 });
});

test("what cannot be run is told of with what can", async () => {
  const { id, run } = await deadJob();
  expect(await run(id, "--handler", "crm")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("name one of its handlers with --handler: log-call."),
  });
  expect(await run(`evt_${"0".repeat(32)}`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("is not in this inbox"),
  });
});
