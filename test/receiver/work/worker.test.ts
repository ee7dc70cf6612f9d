import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PermanentFailure, defineHandler, type HandlerContext } from "../../../receiver/work/handler.ts";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { openStore } from "../../../receiver/store/open.ts";
import { standingClock } from "../helpers/clock.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, claimOne } from "../store-suite/harness.ts";
import { documented, startTestWorker } from "./test-worker.ts";

/** Each handler is a separate queue: when it claims jobs, what delays them, and how they end. */

type Policies = Partial<Parameters<typeof defineHandler>[0]>;

function handler(
  name: string,
  handle: (context: HandlerContext, id: string) => unknown = () => undefined,
  policies: Policies = {},
) {
  return defineHandler({
    ...policies,
    name,
    type: name,
    object: z.unknown(),
    handle: ({ id }, context) => handle(context, id),
  });
}

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
    const { end } = await startTestWorker([dying], { file, onDead: (given) => void dead.push(given) });
    const error: unknown = expect.stringContaining("process ended");
    expect(await end(1)).toMatchObject([{ outcome: "dead", error }]);
    expect(begun).toEqual([]);
    expect(dead).toMatchObject([{ handler: "dying", attempts: 1 }]);
  });

  test("without it, the next worker marks the job as dead", async () => {
    const file = await fileOfCrashed("dying", 1);
    const { store } = await startTestWorker([handler("dying", undefined, { maxAttempts: 1 })], { file });
    expect(await store.ledger.list({ state: "dead" }, { limit: 1 })).toHaveLength(1);
  });
});

describe("a drain", () => {
  test("waits for running jobs and starts no more, and jobs that end in time are done", async () => {
    const ending = signalled();
    let listeners = 0;
    const slow = handler("slow", async () => ending.promise);
    const broken = handler("broken", async () => ending.promise.then(() => z.never().parse(1)));
    const { worker, send, job } = await startTestWorker([slow, broken], {
      workerConcurrency: 1,
      jobs: () => ({ onArrival: () => ((listeners += 1), () => void (listeners -= 1)) }),
    });
    const [first = "", second = "", failed = ""] = await send("slow", "slow", "broken");
    await until(worker.running, ({ length }) => length === 2);
    const drained = worker.drain(30_000);
    expect(listeners).toBe(0);
    await turns(5);
    ending.give();
    await drained;
    expect(await job(first, "slow")).toMatchObject({ state: "done" });
    expect(await job(second, "slow")).toMatchObject({ state: "waiting", attempts: 0 });
    expect(await job(failed, "broken")).toMatchObject({ state: "waiting", attempts: 1 });
  });

  let after = signalled();
  test.for<[string, (context: HandlerContext) => Promise<unknown>]>([
    ["goes on", async () => new Promise(() => undefined)],
    [
      "ends with an error when its signal is aborted",
      async ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new PermanentFailure("aborted")));
        }),
    ],
    ["ends after it", async () => after.promise],
  ])("returns the job of a handler that %s, uncounted and due at once", async ([, behave]) => {
    after = signalled();
    const { worker, send, job, ended } = await startTestWorker([handler("slow", behave)]);
    const [id = ""] = await send("slow");
    await until(worker.running, ({ length }) => length === 1);
    await worker.drain(50);
    expect(await job(id, "slow")).toMatchObject({ state: "waiting", attempts: 0, errors: [] });
    after.give();
    await turns(5);
    expect(ended).toEqual([]);
  });

  test("counts a job as done if it returns after its signal was aborted", async () => {
    const returning = handler("slow", async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await turns(200);
    });
    const { worker, send, job } = await startTestWorker([returning]);
    const [id = ""] = await send("slow");
    await until(worker.running, ({ length }) => length === 1);
    await worker.drain(600);
    expect(await job(id, "slow")).toMatchObject({ state: "done" });
  });

  test("returns jobs that were claimed as it began", async () => {
    const claiming = signalled();
    const { worker, send, job } = await startTestWorker([handler("quick")], {
      jobs: (jobs) => ({
        claim: async (...given) => {
          const claimed = await jobs.claim(...given);
          if (claimed.length > 0) await claiming.promise;
          return claimed;
        },
      }),
    });
    const [id = ""] = await send("quick");
    await until(async () => (await job(id, "quick"))?.state === "running");
    const drained = worker.drain(30_000);
    claiming.give();
    await drained;
    expect(await job(id, "quick")).toMatchObject({ state: "waiting", attempts: 0 });
  });

  test("ends even if the database refuses writes", async () => {
    const ending = signalled();
    const { worker, send } = await startTestWorker([handler("slow", async () => ending.promise)], {
      jobs: () => ({ end: () => Promise.reject(new Error("disk I/O error")) }),
    });
    await send("slow");
    await until(worker.running, ({ length }) => length === 1);
    const drained = worker.drain(30_000);
    ending.give();
    await drained;
    expect(worker.running()).toEqual([]);
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

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

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
