import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { openSqliteEngine } from "../../../receiver/engines/sqlite/index.ts";
import { handler, newEvent } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";

/** What only the SQLite engine has: two files that belong together, on a disk of ours. */

async function open(
  directory: string,
  options: { clock?: Clock; whenLost?: "handle-again" | "consider-handled" } = {},
) {
  const engine = await openSqliteEngine({
    file: join(directory, "receiver.db"),
    clock: systemClock,
    ...options,
  });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => (closed ??= engine.close());
  onTestFinished(close);
  return { ...engine, close };
}

/** Handles everything there is, and answers which events that were. */
async function handleAll(engine: Awaited<ReturnType<typeof open>>): Promise<string[]> {
  const ids: string[] = [];
  const processor = await engine.work.process({
    handlers: [handler()],
    workerId: "test",
    concurrency: 4,
    handle: async ({ id }) => {
      ids.push(id);
      return { kind: "done" };
    },
    onHandled: () => undefined,
    onTrouble: (error) => {
      throw error;
    },
  });
  await until(
    () => engine.ledger.counts(),
    ({ byState }) => byState.pending + byState.claimed === 0,
  );
  await processor.drain(0);
  return ids;
}

describe("a work file that is lost while its inbox is not", () => {
  async function lose() {
    const directory = temporaryDirectory();
    const engine = await open(directory);
    const events = [newEvent(), newEvent()];
    await engine.intake.accept(events);
    await handleAll(engine);
    await engine.close();
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(join(directory, `receiver.work.db${suffix}`), { force: true });
    return { directory, events };
  }

  test("is not made anew in silence: the message names the backup and what can be decided", async () => {
    const { directory } = await lose();
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(open(directory)).rejects.toThrow(
        /receiver\.work\.db is gone.*backup.*--handle-again.*--consider-handled/s,
      );
    }
    expect(existsSync(join(directory, "receiver.work.db"))).toBe(false);
  });

  test("can be begun anew with every stored event to be handled again", async () => {
    const { directory, events } = await lose();
    const engine = await open(directory, { whenLost: "handle-again" });
    expect((await handleAll(engine)).toSorted()).toEqual(events.map(({ id }) => id).toSorted());
    expect(await engine.ledger.check?.()).toEqual([]);
  });

  test("can be begun anew with every stored event taken for handled", async () => {
    const { directory } = await lose();
    const engine = await open(directory, { whenLost: "consider-handled" });
    const later = newEvent();
    await engine.intake.accept([later]);
    expect(await handleAll(engine)).toEqual([later.id]);
    expect((await engine.ledger.counts()).byState).toMatchObject({ done: 3, pending: 0 });
    expect(await engine.ledger.prune({ bodiesOlderThanMs: -1, idsOlderThanMs: 1e12 })).toMatchObject({
      bodies: 3,
    });
    expect(await engine.ledger.check?.()).toEqual([]);
  });

  test("is missed after pruning too, though no body is left", async () => {
    const { directory } = await lose();
    const engine = await open(directory, { whenLost: "consider-handled" });
    await engine.ledger.prune({ bodiesOlderThanMs: -1, idsOlderThanMs: 1e12 });
    await engine.close();
    rmSync(join(directory, "receiver.work.db"));
    await expect(open(directory)).rejects.toThrow(/is gone/);
    const again = await open(directory, { whenLost: "handle-again" });
    const later = newEvent();
    await again.intake.accept([later]);
    expect(await handleAll(again)).toEqual([later.id]);
    expect(await again.ledger.check?.()).toEqual([]);
  });
});

describe("a clock that is set", () => {
  test.for([3_600_000, -3_600_000])("by %i ms makes no living worker look dead", async (stepMs) => {
    const directory = temporaryDirectory();
    let offsetMs = 0;
    const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + offsetMs };
    const engine = await open(directory, { clock });
    const other = await open(directory, { clock });
    const attempts: number[] = [];
    const finish = Promise.withResolvers<void>();
    const loop = {
      handlers: [handler()],
      concurrency: 2,
      onHandled: () => undefined,
      onTrouble: () => undefined,
    };
    await engine.intake.accept([newEvent()]);
    const first = await engine.work.process({
      ...loop,
      workerId: "first",
      handle: async ({ attempt }) => {
        attempts.push(attempt);
        await finish.promise;
        return { kind: "done" };
      },
    });
    await until(() => attempts.length, Boolean);
    const looked: string[] = [];
    const second = await other.work.process({
      ...loop,
      workerId: "second",
      handle: async ({ id }) => {
        looked.push(id);
        return { kind: "done" };
      },
    });
    offsetMs = stepMs;
    // Long enough for the second worker, which beats seldom as it holds nothing, to have looked several times.
    const db = new Database(join(directory, "receiver.work.db"), { readonly: true });
    const beatsOf = db.prepare<[string], number>("SELECT beat FROM workers WHERE id = ?").pluck();
    const before = beatsOf.get("first") ?? 0;
    await until(
      () => beatsOf.get("first") ?? 0,
      (beats) => beats >= before + 6,
    );
    db.close();
    finish.resolve();
    await until(
      () => engine.ledger.counts(),
      ({ byState }) => byState.done === 1,
    );
    await first.drain(0);
    await second.drain(0);
    expect({ attempts, looked }).toEqual({ attempts: [1], looked: [] });
  });
});

test("a worker that held nothing for so long that others took it for gone claims under another number, once", async () => {
  const directory = temporaryDirectory();
  let passedMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs };
  const engine = await open(directory, { clock });
  const attempts: number[] = [];
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const processor = await engine.work.process({
    handlers: [handler()],
    workerId: "idle",
    concurrency: 1,
    handle: async ({ attempt }) => {
      attempts.push(attempt);
      if (attempts.length === 1) return { kind: "done" };
      begun.resolve();
      await finish.promise;
      return { kind: "done" };
    },
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  const done = async (count: number): Promise<unknown> =>
    until(
      () => engine.ledger.counts(),
      ({ byState }) => byState.done === count,
    );
  await engine.intake.accept([newEvent()]);
  await done(1);
  const db = new Database(join(directory, "receiver.work.db"));
  onTestFinished(() => void db.close());
  const numberOf = db.prepare<[], number>("SELECT number FROM workers").pluck();
  const before = numberOf.get();
  passedMs = 30_000;
  db.exec("DELETE FROM workers");
  await engine.intake.accept([newEvent()]);
  await begun.promise;
  expect(numberOf.get()).toBe((before ?? 0) + 1);
  finish.resolve();
  await done(2);
  await processor.drain(0);
  expect(attempts).toEqual([1, 1]);
});

test("a worker that drains goes on giving its sign of life until its handlers are done", async () => {
  const directory = temporaryDirectory();
  const engine = await open(directory);
  await engine.intake.accept([newEvent()]);
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const processor = await engine.work.process({
    handlers: [handler()],
    workerId: "draining",
    concurrency: 1,
    handle: async () => {
      begun.resolve();
      await finish.promise;
      return { kind: "done" };
    },
    onHandled: () => undefined,
    onTrouble: () => undefined,
  });
  await begun.promise;
  const drained = processor.drain(60_000);
  const db = new Database(join(directory, "receiver.work.db"), { readonly: true });
  onTestFinished(() => void db.close());
  const beat = db.prepare<[], number>("SELECT beat FROM workers").pluck();
  const before = beat.get() ?? 0;
  await until(
    () => beat.get() ?? 0,
    (beats) => beats >= before + 2,
  );
  finish.resolve();
  await drained;
  expect((await engine.ledger.counts()).byState).toMatchObject({ done: 1, claimed: 0 });
  expect(beat.get()).toBeUndefined();
});

describe("a backup", () => {
  test("ends while events keep coming, and holds what had come before", async () => {
    const directory = temporaryDirectory();
    const engine = await open(directory);
    const before = Array.from({ length: 500 }, () => newEvent());
    await engine.intake.accept(before);
    const busy = { yes: true };
    const load = (async () => {
      while (busy.yes) await engine.intake.accept([newEvent()]);
    })();
    const target = join(directory, "copy");
    const files = (await engine.ledger.backup?.(target)) ?? [];
    busy.yes = false;
    await load;
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(readdirSync(target).toSorted()).toEqual(["receiver.db", "receiver.work.db"]);
    const restored = await open(target);
    const handled = new Set(await handleAll(restored));
    expect(before.every(({ id }) => handled.has(id))).toBe(true);
  });

  test("copies the work file first: of what it has seen, the inbox that is copied then lacks nothing", async () => {
    const directory = temporaryDirectory();
    const engine = await open(directory);
    await engine.intake.accept([newEvent()]);
    const target = join(directory, "copy");
    await engine.ledger.backup?.(target);
    const [work = 0n, inbox = 0n] = ["receiver.work.db", "receiver.db"].map(
      (name) => statSync(join(target, name), { bigint: true }).mtimeNs,
    );
    expect(work).toBeLessThan(inbox);
  });

  test("goes over what one that broke off has left", async () => {
    const directory = temporaryDirectory();
    const engine = await open(directory);
    const target = temporaryDirectory();
    for (const name of ["receiver.db.part", "receiver.work.db.part"])
      writeFileSync(join(target, name), "half");
    await engine.ledger.backup?.(target);
    expect(readdirSync(target).toSorted()).toEqual(["receiver.db", "receiver.work.db"]);
    expect(await (await open(target)).ledger.check?.()).toEqual([]);
  });

  test("overwrites nothing", async () => {
    const directory = temporaryDirectory();
    const engine = await open(directory);
    const target = temporaryDirectory();
    writeFileSync(join(target, "receiver.work.db"), "something else");
    await expect(engine.ledger.backup?.(target)).rejects.toThrow(/receiver\.work\.db is there already/);
    expect(readdirSync(target)).toEqual(["receiver.work.db"]);
  });
});

test("nothing that operators ask is answered on the caller's thread", async () => {
  const { ledger, intake } = await open(temporaryDirectory());
  const event = newEvent();
  await intake.accept([event]);
  const questions: Record<keyof typeof ledger, () => Promise<unknown> | undefined> = {
    find: () => ledger.find(event.id),
    body: () => ledger.body(1),
    list: () => ledger.list({}, { limit: 10 }),
    handlers: () => ledger.handlers(),
    requeue: () => ledger.requeue([event.id]),
    prune: () => ledger.prune({ bodiesOlderThanMs: 0, idsOlderThanMs: 0 }),
    counts: () => ledger.counts(),
    known: () => ledger.known(event.type, []),
    prunedBeforeMs: () => ledger.prunedBeforeMs(),
    bookmark: () => ledger.bookmark("of nobody"),
    setBookmark: () => ledger.setBookmark("of nobody", "1"),
    check: () => ledger.check?.(),
    backup: () => ledger.backup?.(temporaryDirectory()),
  };
  expect(new Set(Object.keys(questions))).toEqual(new Set(Object.keys(ledger)));
  for (const [verb, ask] of Object.entries(questions)) {
    let isAnswered = false;
    const answered = ask()?.finally(() => (isAnswered = true));
    // Microtasks alone: the event loop doesn't turn, so what another thread says is not heard meanwhile.
    for (let task = 0; task < 1_000; task += 1) await Promise.resolve();
    expect(isAnswered, verb).toBe(false);
    await answered;
    expect(isAnswered, verb).toBe(true);
  }
});
