import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { openStore } from "../../../receiver/store/open.ts";
import { PermanentFailure } from "../../../receiver/work/handler.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { accept, claimOne } from "../store-suite/harness.ts";
import { documented, handler, startTestWorker } from "./test-worker.ts";

describe("onDead", () => {
  test("is called with event, handler, attempts and error of each job that dies, before that is written", async () => {
    const dead: unknown[] = [];
    const states: unknown[] = [];
    const dying = handler("dying", async () => Promise.reject(new PermanentFailure("no such order")));
    const done = handler("done", async ({ atomically }) => {
      await atomically(async () => undefined);
      throw new PermanentFailure("too late to matter");
    });
    const { send, end, job } = await startTestWorker([dying, done], {
      onDead: async (given) => {
        dead.push(given);
        states.push(await job(given.event.id, "dying"));
      },
    });
    const [id] = await send("dying", "done");
    await end(2);
    const error = "PermanentFailure: no such order";
    expect(dead).toMatchObject([{ event: { id, type: "dying" }, handler: "dying", attempts: 1, error }]);
    expect(states).toMatchObject([{ state: "running" }]);
  });

  test("that throws or never ends does not stop its job from ending as dead", async () => {
    const dying = handler("dying", async () => Promise.reject(new PermanentFailure("no such order")));
    const reports = [() => Promise.reject(new Error("no mail")), () => new Promise(() => undefined)];
    const { send, end, lines } = await startTestWorker([dying], {
      workerConcurrency: 1,
      onDead: async () => reports.shift()?.(),
      // Its pauses are a fiftieth as long.
      sleep: (ms, signal) => systemClock.sleep(ms / 50, signal),
    });
    await send("dying", "dying");
    expect(await end(2)).toMatchObject([{ outcome: "dead" }, { outcome: "dead" }]);
    expect(lines).toMatchObject([{ msg: "onDead failed", handler: "dying", error: "Error: no mail" }]);
  });

  test("is called for a job whose process ended during its last attempt, and while it was reported", async () => {
    const dead: unknown[] = [];
    const begun: string[] = [];
    const file = await fileOfCrashed("dying", 4);
    const policies = { maxAttempts: 1, backoff: () => 86_400 };
    const dying = handler("dying", (_, id) => void begun.push(id), policies);
    const { end, store } = await startTestWorker([dying], { file, onDead: (given) => void dead.push(given) });
    const error: unknown = expect.stringContaining("process ended");
    expect(await end(1)).toMatchObject([{ outcome: "dead", error }]);
    expect(begun).toEqual([]);
    expect(dead).toMatchObject([{ handler: "dying", attempts: 1 }]);
    expect(await store.ledger.list({ state: "dead" }, { limit: 1 })).toMatchObject([{ attempts: 1 }]);
  });

  test("without it, the next worker marks the job as dead", async () => {
    const file = await fileOfCrashed("dying", 1);
    const { store } = await startTestWorker([handler("dying", undefined, { maxAttempts: 1 })], { file });
    expect(await store.ledger.list({ state: "dead" }, { limit: 1 })).toHaveLength(1);
  });
});

/** A database file whose workers died during so many attempts at one job. */
async function fileOfCrashed(name: string, attempts: number): Promise<string> {
  const file = join(temporaryDirectory(), "receiver.db");
  const own = { databaseFile: file, isWorker: true, onFatal: console.error };
  const policy = { name, types: [name], key: [], migrations: [], maximumAttempts: 9, backoffMs: () => 0 };
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const store = await openStore({ ...own, clock: systemClock });
    if (attempt === 1) await accept(store, documented(name));
    await store.jobs.begin([policy], new AbortController().signal);
    await claimOne(store, name);
    await store.close();
  }
  return file;
}
