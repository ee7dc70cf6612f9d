import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { HandlerContext } from "../../../receiver/work/handler.ts";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { standingClock } from "../helpers/clock.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept } from "../store-suite/harness.ts";
import { documented, handler, startTestWorker, turns } from "./test-worker.ts";

/** Each handler is a separate queue: when it claims jobs, what delays them, and how they end. */

describe("slots", () => {
  test("as many jobs of a handler run as it has slots, and a freed slot takes the next, oldest first", async () => {
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const slow = handler("slow", async (_, id) => {
      order.push(id);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    const { worker, send, end } = await startTestWorker([slow], { workerConcurrency: 2 });
    const ids = [...(await send("slow")), ...(await send("slow")), ...(await send("slow"))];
    await until(() => order.length === 2);
    await turns(20);
    expect(worker.running().map(({ id }) => id)).toEqual(ids.slice(0, 2));
    ends[1]?.();
    await until(() => order.length === 3);
    expect(order).toEqual(ids);
    for (const finish of ends) finish();
    await end(3);
    expect(worker.running()).toEqual([]);
  });

  test("a slow handler with all its slots in use does not delay others", async () => {
    const ending = signalled();
    const { send, end } = await startTestWorker(
      [handler("slow", async () => ending.promise), handler("quick")],
      { workerConcurrency: 1 },
    );
    await send("slow", "slow", "quick", "quick");
    expect((await end(2)).map(({ handler: name }) => name)).toEqual(["quick", "quick"]);
    ending.give();
    await end(4);
  });

  test("a handler's own concurrency is below WORKER_CONCURRENCY, never above it", async () => {
    const ending = signalled();
    const few = handler("few", async () => ending.promise, { concurrency: 1 });
    const many = handler("many", async () => ending.promise, { concurrency: 9 });
    const { worker, send } = await startTestWorker([few, many], { workerConcurrency: 3 });
    await send(...Array.from({ length: 5 }, () => ["few", "many"]).flat());
    const running = () => worker.running().map(({ handler: name }) => name);
    await until(running, ({ length }) => length === 4);
    await turns(20);
    expect(running().toSorted()).toEqual(["few", "many", "many", "many"]);
    ending.give();
  });

  test("no more than `limit` attempts begin within any `perSeconds`", async () => {
    const limited = handler("limited", () => undefined, { rateLimit: { limit: 2, perSeconds: 0.2 } });
    const begun: number[] = [];
    const { send, end, clock } = await startTestWorker([limited], {
      jobs: ({ claim }) => ({
        claim: async (...given) => {
          const claimed = await claim(...given);
          begun.push(...claimed.map(() => clock.monotonicMs()));
          return claimed;
        },
      }),
    });
    await send(...Array.from({ length: 5 }, () => "limited"));
    await end(5);
    // Between an attempt and the one after the next there is a whole window.
    for (const [index, atMs] of begun.slice(2).entries())
      expect(atMs - (begun[index] ?? 0)).toBeGreaterThanOrEqual(195);
  });
});

describe("polling", () => {
  // Here only a wake-up ends its pauses.
  const rests: number[] = [];
  const sleep: Clock["sleep"] = async (ms, signal) => {
    rests.push(ms);
    await new Promise<void>((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener("abort", () => resolve());
    });
  };

  test("at once when it is woken, and at least every second", async () => {
    const { send, end } = await startTestWorker([handler("idle"), handler("quick")], { sleep });
    await until(() => rests.length > 1);
    expect(Math.max(...rests)).toBeLessThanOrEqual(1_000);
    await send("quick");
    expect(await end(1)).toMatchObject([{ outcome: "done" }]);
  });

  test("at once after a full claim and after each end, so that a backlog never waits for the next second", async () => {
    const { send, end } = await startTestWorker([handler("quick")], { workerConcurrency: 2, sleep });
    await send(...Array.from({ length: 200 }, () => "quick"));
    expect(await end(200)).toHaveLength(200);
  });

  test("for the next job of a key as soon as the one before it has ended", async () => {
    const order: string[] = [];
    const keyed = handler("keyed", (_, id) => void order.push(id), { key: "data.object.phone" });
    const { store, worker, end } = await startTestWorker([keyed], { sleep });
    const ids = await accept(store, ...Array.from({ length: 30 }, () => documented("keyed", { phone: "1" })));
    worker.wake();
    await end(30);
    expect(order).toEqual(ids);
  });

  test("with a turn for timers and requests in between, even if the store returns at once", async () => {
    let endless = true;
    const job = { handler: "quick", id: "evt_1", type: "quick", body: "{}" };
    const claimed = { ...job, attempt: 1, receivedAtMs: 0, waitingSinceMs: 0 };
    const { ended } = await startTestWorker([handler("quick")], {
      jobs: () => ({ claim: async () => (endless ? [claimed] : []), end: async () => true }),
    });
    await turns(3);
    endless = false;
    expect(ended.length).toBeGreaterThan(10);
  });
});

describe("an attempt's end", () => {
  test("is reported with its handler, type, attempt, outcome and duration", async () => {
    const failing = handler("failing", async () => {
      await setImmediate();
      throw new Error("no");
    });
    const { send, end } = await startTestWorker([failing]);
    const [id] = await send("failing");
    const [one] = await end(1);
    const durationMs: unknown = expect.any(Number);
    const wanted = { handler: "failing", id, type: "other", attempt: 1, outcome: "failed", durationMs };
    expect(one).toEqual({ ...wanted, error: "Error: no" });
  });

  test("is retried while the database refuses writes, until it is written, and each problem is logged once", async () => {
    let failures = 0;
    const { send, end, lines, job } = await startTestWorker([handler("quick")], {
      jobs: (jobs) => ({
        end: async (...given) => {
          failures += 1;
          if (failures <= 3) throw new Error("database or disk is full");
          return jobs.end(...given);
        },
      }),
    });
    const [id = ""] = await send("quick");
    expect(await end(1)).toMatchObject([{ outcome: "done" }]);
    expect(await job(id, "quick")).toMatchObject({ state: "done", attempts: 1 });
    failures = 0;
    await send("quick");
    await end(2);
    const msg = "the worker cannot use the database; it tries again";
    expect(lines).toMatchObject([{ msg }, { msg }]);
  });

  test("comes after a claim that failed at first", async () => {
    let failures = 0;
    const { send, end, lines } = await startTestWorker([handler("quick")], {
      jobs: (jobs) => ({
        claim: async (...given) => {
          failures += 1;
          if (failures <= 2) throw new Error("database is locked");
          return jobs.claim(...given);
        },
      }),
    });
    await send("quick");
    expect(await end(1)).toMatchObject([{ outcome: "done" }]);
    expect(lines).toHaveLength(1);
  });

  test("is reported as lost if the job was no longer this attempt's", async () => {
    const { send, end } = await startTestWorker([handler("quick")], {
      jobs: () => ({ end: async () => false }),
    });
    await send("quick");
    expect(await end(1)).toMatchObject([{ outcome: "lost" }]);
  });

  test("of a type that this version of its handler does not take is a failure, so that another version can handle it", async () => {
    const { send, end } = await startTestWorker([handler("quick")], {
      jobs: ({ claim }) => ({
        claim: async (...given) => {
          const claimed = await claim(...given);
          return claimed.map((job) => Object.assign(job, { type: "older" }));
        },
      }),
    });
    await send("quick");
    const error: unknown = expect.stringContaining("does not take older");
    expect(await end(1)).toMatchObject([{ outcome: "failed", error }]);
  });
});

test("a handler still running after its deadline fails its job, returns the others, and ends the process", async () => {
  const { worker, send, job, stuck, end } = await startTestWorker(
    [
      handler("stuck", async () => new Promise(() => undefined), { timeoutSeconds: 3 }),
      handler("other", async () => new Promise(() => undefined)),
    ],
    // Its timers fire after a fiftieth of the time.
    { after: (ms, run) => systemClock.after(ms / 50, run) },
  );
  const [failed = "", other = ""] = await send("stuck", "other");
  await until(worker.running, ({ length }) => length === 2);
  const error: unknown = expect.stringContaining("within 3 s");
  expect(await end(1)).toMatchObject([{ outcome: "failed", id: failed, error }]);
  await until(() => stuck.length === 1);
  expect(stuck).toEqual([{ handler: "stuck", id: failed }]);
  expect(await job(failed, "stuck")).toMatchObject({ state: "waiting", attempts: 1 });
  expect(await job(other, "other")).toMatchObject({ state: "waiting", attempts: 0 });
});

test("expired bodies are pruned a minute after the start and each hour, and no timer is left after a drain", async () => {
  const timers = standingClock();
  const late = async ({ signal }: HandlerContext) =>
    new Promise((resolve) => signal.addEventListener("abort", resolve));
  const started = await startTestWorker([handler("quick"), handler("late", late, { timeoutSeconds: 3 })], {
    after: timers.after,
  });
  const { worker, clock, store, send, end, ended, stuck } = started;
  await send("late");
  await until(worker.running, ({ length }) => length === 1);
  await timers.pass(3_000);
  expect(await end(1)).toMatchObject([{ outcome: "failed" }]);
  for (const [round, ms] of [57_000, 3_600_000].entries()) {
    const [id = ""] = await send("quick");
    await end(round + 2);
    clock.move(31 * 86_400_000);
    await timers.pass(ms);
    await until(async () => (await store.ledger.find(id))?.state === "pruned");
  }
  expect((await store.ledger.find(ended[1]?.id ?? ""))?.state).toBe("pruned");
  await worker.drain(0);
  expect([timers.waiting(), stuck]).toEqual([0, []]);
});
