import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Handled } from "../../../receiver/engine.ts";
import type { Ending } from "../../../receiver/engines/ending.ts";
import { createProcessor } from "../../../receiver/engines/sqlite/processor.ts";
import { handler } from "../engine-suite/harness.ts";
import { standingClock } from "../helpers/clock.ts";
import { until } from "../helpers/until.ts";

const HANDLER = handler({ name: "any" });

/** An engine of one event, whose every write fails while there is trouble. */
function engineOfOne() {
  const job = {
    job: 1,
    token: 1,
    handler: HANDLER.name,
    id: "evt_1",
    type: "any",
    receivedAtMs: 0,
    waitingSinceMs: 0,
    body: "{}",
    trace: null,
    attempt: 1,
    key: null,
    suspect: false,
  };
  const ended: string[] = [];
  let left = [job];
  let failures = 0;
  let committed = false;
  let transaction: Promise<unknown> | undefined;
  const commit = Promise.withResolvers<void>();
  const end = (word: string) => (): boolean => {
    if (committed) return false;
    ended.push(word);
    return true;
  };
  const never = (): never => {
    throw new Error("This is not asked here.");
  };
  const db = new Database(":memory:");
  onTestFinished(() => void db.close());
  db.exec("CREATE TABLE workers (number INTEGER PRIMARY KEY, id TEXT, beat INTEGER, lease_until_ms INTEGER)");
  return {
    ended,
    fail: (times: number): void => {
      failures = times;
    },
    /** The commit that a handler's writes share with others' comes with the next transaction. */
    commitLate: (late: Promise<unknown>): void => {
      transaction = late;
    },
    parts: {
      claims: {
        hasArrived: () => false,
        isAnyWaiting: () => true,
        claim: () => ({ claimed: left.splice(0), buried: [] }),
      },
      settling: {
        settle: (_job: unknown, { state }: Ending) => end(state)(),
        return: end("returned"),
        takeBack: () => undefined,
        returnUnknown: () => undefined,
        findStep: never,
        recordStep: never,
      },
      handlers: {
        announce: never,
        ignoreGone: () => undefined,
        refresh: () => undefined,
        own: () => [],
        wanting: never,
        find: never,
      },
      db,
      transactions: {
        run: async <Result>(statements: () => Result | Promise<Result>): Promise<Result> => {
          if (failures > 0) {
            failures -= 1;
            throw new Error("database is locked");
          }
          if (transaction) commit.resolve();
          committed = (await transaction?.then(() => true)) ?? false;
          return statements();
        },
      },
      query: never,
      transact: async <Result>(
        _: unknown,
        _given: unknown,
        work: (db: { query: () => never }) => Promise<Result>,
      ) => {
        const result = await work({ query: never });
        await commit.promise;
        return result;
      },
      clock: systemClock,
    },
  };
}

test("an end that can't be written down is written as soon as it can", async () => {
  const engine = engineOfOne();
  const troubles: unknown[] = [];
  const handled: Handled[] = [];
  const processor = createProcessor(engine.parts, {
    handlers: [HANDLER],
    workerId: "worker",
    concurrency: 1,
    handle: async () => {
      engine.fail(2);
      return { kind: "done" };
    },
    onHandled: (one) => void handled.push(one),
    onTrouble: (error) => void troubles.push(error),
  });
  await until(
    () => handled,
    ({ length }) => length > 0,
  );
  await processor.drain(0);
  expect(engine.ended).toEqual(["done"]);
  expect(handled).toMatchObject([{ id: "evt_1", outcome: "done" }]);
  expect(troubles.length).toBeGreaterThan(0);
});

test("what workers held that are known to be dead is taken back, though that fails at first, and of no other", async () => {
  const engine = engineOfOne();
  const clock = standingClock();
  const takenBack: unknown[] = [];
  const { db } = engine.parts;
  db.exec(
    "INSERT INTO workers VALUES (7, 'dead', 0, 90000), (8, 'dead too', 0, 90000), (9, 'alive', 0, 90000)",
  );
  const settling = {
    ...engine.parts.settling,
    takeBack: (...[number, , why]: [number, number, string]) => void takenBack.push([number, why]),
  };
  const claims = { ...engine.parts.claims, claim: () => ({ claimed: [], buried: [] }) };
  let troubles = 0;
  engine.fail(2);
  const processor = createProcessor(
    { ...engine.parts, settling, claims, clock },
    {
      handlers: [HANDLER],
      workerId: "worker",
      predecessors: ["dead", "dead too"],
      concurrency: 1,
      handle: async () => ({ kind: "done" }),
      onHandled: () => undefined,
      onTrouble: () => (troubles += 1),
    },
  );
  await clock.pass(0);
  await clock.pass(2_000);
  const taken = [7, 8].map((number) => [number, "crashed"]);
  expect([troubles, takenBack]).toEqual([2, taken]);
  expect(db.prepare("SELECT id FROM workers ORDER BY number").pluck().all()).toEqual(["alive", "worker"]);
  await processor.drain(0);
});

test("an event whose common commit comes after its handler's time was up is reported as done", async () => {
  const engine = engineOfOne();
  const handled: Handled[] = [];
  const processor = createProcessor(engine.parts, {
    handlers: [HANDLER],
    workerId: "worker",
    concurrency: 1,
    handle: async ({ atomically, signal }) => {
      engine.commitLate(atomically(signal)(async () => undefined));
      return { kind: "failed", error: "DeadlinePassed" };
    },
    onHandled: (one) => void handled.push(one),
    onTrouble: (error) => expect.unreachable(String(error)),
  });
  await until(
    () => handled,
    ({ length }) => length > 0,
  );
  await processor.drain(0);
  expect(engine.ended).toEqual([]);
  expect(handled).toMatchObject([{ id: "evt_1", outcome: "done" }]);
  expect(handled[0]?.error).toBeUndefined();
});

test("a suspect is not claimed while anything else runs", async () => {
  const engine = engineOfOne();
  const asked: string[] = [];
  const finish = Promise.withResolvers<void>();
  const claims = {
    ...engine.parts.claims,
    claim: ({ suspects }: { suspects: string }) => {
      asked.push(suspects);
      return engine.parts.claims.claim();
    },
  };
  const options = {
    handlers: [HANDLER],
    workerId: "worker",
    concurrency: 2,
    handle: async () => {
      await finish.promise;
      return { kind: "done" as const };
    },
    onHandled: () => undefined,
    onTrouble: (error: unknown) => expect.unreachable(String(error)),
  };
  const processor = createProcessor({ ...engine.parts, claims }, options);
  await until(
    () => asked.length,
    (times) => times >= 3,
  );
  expect(asked.at(-1)).toBe("wait");
  expect(asked).not.toContain("now");
  finish.resolve();
  await until(
    () => asked,
    (all) => all.includes("now"),
  );
  await processor.drain(0);
});

test("at rest, what has come or is due is looked for ten times a second, and nothing is written where nothing waits", async () => {
  const engine = engineOfOne();
  const clock = standingClock();
  let looks = 0;
  const claims = {
    ...engine.parts.claims,
    hasArrived: () => ((looks += 1), false),
    isAnyWaiting: () => false,
  };
  const transactions = { run: async () => expect.unreachable("This writes.") };
  const processor = createProcessor(
    { ...engine.parts, claims, clock, transactions },
    {
      handlers: [HANDLER],
      workerId: "worker",
      concurrency: 1,
      handle: async () => ({ kind: "done" }),
      onHandled: () => undefined,
      onTrouble: (error) => expect.unreachable(String(error)),
    },
  );
  await clock.pass(200);
  looks = 0;
  await clock.pass(1_000);
  expect(looks).toBe(10);
  processor.wake();
  await clock.pass(0);
  expect(looks).toBe(11);
});

test("a worker that drains gives signs of life for as long as a handler runs, tells it half a second before, and leaves", async () => {
  const engine = engineOfOne();
  const clock = standingClock();
  const beats: number[] = [];
  const left: number[] = [];
  let abortedAtMs: number | undefined;
  let reason: unknown;
  const { db } = engine.parts;
  db.function("note_beat", () => beats.push(clock.monotonicMs()));
  db.function("note_end", (number) => left.push(Number(number)));
  db.exec(`
    CREATE TEMP TRIGGER begun AFTER INSERT ON workers BEGIN SELECT note_beat(); END;
    CREATE TEMP TRIGGER beaten AFTER UPDATE ON workers BEGIN SELECT note_beat(); END;
    CREATE TEMP TRIGGER ended AFTER DELETE ON workers BEGIN SELECT note_end(old.number); END`);
  const handled: Handled[] = [];
  const processor = createProcessor(
    { ...engine.parts, clock },
    {
      handlers: [],
      workerId: "worker",
      concurrency: 1,
      handle: async ({ signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            abortedAtMs = clock.monotonicMs();
            reason = signal.reason;
          });
        }),
      onHandled: (one) => void handled.push(one),
      onTrouble: (error) => expect.unreachable(String(error)),
    },
  );
  await clock.pass(1_000);
  const drained = processor.drain(60_000);
  await clock.pass(0);
  for (let passedMs = 0; passedMs < 60_000; passedMs += 100) await clock.pass(100);
  await drained;
  const pauses = beats.slice(1).map((atMs, at) => atMs - beats[at]!);
  // Others wait for 750 ms at least.
  expect(Math.max(...pauses)).toBeLessThanOrEqual(500);
  expect(beats.at(-1)).toBeGreaterThan(60_000);
  expect(abortedAtMs).toBe(60_500);
  expect(String(reason)).toContain("The receiver is shutting down");
  expect({ left, ended: engine.ended, handled }).toEqual({ left: [1], ended: ["returned"], handled: [] });
});

test.each([
  [
    "as failed",
    [{ handler: "any", id: "evt_1", error: "it is stuck" }],
    ["pending"],
    [{ outcome: "failed", error: "it is stuck" }],
  ],
  [
    "given back, since it is another handler's",
    [{ handler: "other", id: "evt_1", error: "x" }],
    ["returned"],
    [],
  ],
  [
    "given back, since it is another event's",
    [{ handler: "any", id: "evt_2", error: "x" }],
    ["returned"],
    [],
  ],
])("what still runs at the end of a drain is written down %s", async (_how, failed, ended, reports) => {
  const engine = engineOfOne();
  const begun = Promise.withResolvers<void>();
  const handled: Handled[] = [];
  const processor = createProcessor(engine.parts, {
    handlers: [],
    workerId: "worker",
    concurrency: 1,
    handle: async () => {
      begun.resolve();
      return new Promise(() => undefined);
    },
    onHandled: (one) => void handled.push(one),
    onTrouble: (error) => expect.unreachable(String(error)),
  });
  await begun.promise;
  await processor.drain(0, failed);
  expect(engine.ended).toEqual(ended);
  expect(handled).toMatchObject(reports);
  expect(handled).toHaveLength(reports.length);
});
