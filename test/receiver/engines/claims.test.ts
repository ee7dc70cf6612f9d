import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Ending } from "../../../receiver/engines/ending.ts";
import { createAccept } from "../../../receiver/engines/sqlite/accept.ts";
import { createClaims } from "../../../receiver/engines/sqlite/claims.ts";
import { openInboxFile } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { createRetention } from "../../../receiver/engines/sqlite/retention.ts";
import { openWorkFile, workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";
import { createWorkers } from "../../../receiver/engines/sqlite/workers.ts";
import { newEvent, newEvents } from "../engine-suite/harness.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** The verbs of the two files by themselves, where the loop around them would hide how exact they are. */

const HOUR_MS = 3_600_000;
const NOW_MS = 1_000 * HOUR_MS;

const DONE: Ending = { state: "done", error: null };
const IGNORED: Ending = { state: "ignored", error: null };
const again = (delayMs: number): Ending => ({ state: "pending", error: "again", delayMs });

function setUp({ events }: { events: number }) {
  const file = join(temporaryDirectory(), "receiver.db");
  const inbox = openInboxFile({ file, busyTimeoutMs: 0 });
  const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: 0 });
  onTestFinished(() => void db.close());
  onTestFinished(() => void inbox.close());
  const claims = createClaims(db, inbox, { maximumAttempts: 5, backoffMs: () => HOUR_MS });
  createAccept(inbox)(newEvents(events), NOW_MS);
  const claim = (options: { nowMs?: number; running?: number; limit?: number; worker?: number } = {}) =>
    claims.claim({ nowMs: NOW_MS, worker: 1, limit: 10, running: 0, ...options });
  return { inbox, db, claims, claim };
}

describe("an event whose worker vanished", () => {
  test("waits until nothing else is being handled, and is claimed alone then", () => {
    const { claims, claim } = setUp({ events: 3 });
    expect(claim({ limit: 2 })).toHaveLength(2);
    expect(claims.takeBack(1, NOW_MS, "expired")).toBe(2);
    expect(claim({ running: 1 })).toEqual([]);
    expect(claim()).toMatchObject([{ seq: 1, attempts: 2, crashes: 1 }]);
    expect(claim()).toMatchObject([{ seq: 2, attempts: 2, crashes: 1 }]);
    expect(claim()).toMatchObject([{ seq: 3, attempts: 1, crashes: 0 }]);
  });

  test("waits for its backoff when its process is known to have crashed", () => {
    const { claims, claim } = setUp({ events: 1 });
    claim();
    claims.takeBack(1, NOW_MS, "crashed");
    expect(claim({ nowMs: NOW_MS + HOUR_MS - 1 })).toEqual([]);
    expect(claim({ nowMs: NOW_MS + HOUR_MS })).toHaveLength(1);
  });
});

describe("an event that failed", () => {
  test("is due at its time, not a millisecond before", () => {
    const { claims, claim } = setUp({ events: 1 });
    const [event] = claim();
    expect(claims.settle(event!, again(5_000), NOW_MS)).toBe(true);
    expect(claim({ nowMs: NOW_MS + 4_999 })).toEqual([]);
    expect(claim({ nowMs: NOW_MS + 5_000 })).toHaveLength(1);
  });

  test("is due at once when its time lies further ahead than any backoff: the clock was turned back", () => {
    const { claims, claim } = setUp({ events: 1 });
    const [event] = claim();
    claims.settle(event!, again(0), NOW_MS);
    expect(claim({ nowMs: NOW_MS - 47 * HOUR_MS })).toEqual([]);
    expect(claim({ nowMs: NOW_MS - 49 * HOUR_MS })).toHaveLength(1);
  });
});

describe("a claim of large events", () => {
  const text = "x".repeat(1_048_576);
  const large = Array.from({ length: 12 }, () => newEvent({ body: Buffer.from(text) }));

  test("ends with the event that fills it, and the next goes on behind it", () => {
    const { inbox, claim } = setUp({ events: 0 });
    createAccept(inbox)(large, NOW_MS);
    expect(claim({ limit: 100 }).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(claim({ limit: 100 }).map(({ seq }) => seq)).toEqual([9, 10, 11, 12]);
  });

  test("keeps room for new events when many retries are due", () => {
    const { inbox, claims, claim } = setUp({ events: 0 });
    createAccept(inbox)(large, NOW_MS);
    for (const event of claim({ limit: 100 })) claims.settle(event, again(0), NOW_MS);
    expect(claim({ limit: 100 }).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 9, 10, 11, 12]);
    expect(claim({ limit: 100 }).map(({ seq }) => seq)).toEqual([5, 6, 7, 8]);
  });
});

test("a lease ends once: what was said first stands", () => {
  const { claims, claim } = setUp({ events: 1 });
  const [event] = claim();
  expect(claims.return(event!)).toBe(true);
  expect(claims.settle(event!, DONE, NOW_MS)).toBe(false);
  const [second] = claim();
  expect(claims.return({ ...second!, token: event!.token })).toBe(false);
  expect(claims.settle(second!, { state: "dead", error: "hopeless" }, NOW_MS)).toBe(true);
  for (const ending of [again(0), IGNORED, DONE]) expect(claims.settle(second!, ending, NOW_MS)).toBe(false);
});

test("each ending leaves its own marks, and none of the others'", () => {
  const { db, claims, claim } = setUp({ events: 4 });
  const endings: Ending[] = [DONE, IGNORED, { state: "dead", error: "hopeless" }, again(5_000)];
  for (const [index, event] of claim().entries()) claims.settle(event, endings[index]!, NOW_MS + 1);
  const rows = db.prepare(
    "SELECT state, handled, due_at_ms, finished_at_ms, last_error, worker FROM work ORDER BY seq",
  );
  const nothing = { handled: 0, due_at_ms: null, finished_at_ms: NOW_MS + 1, last_error: null, worker: null };
  expect(rows.all()).toEqual([
    { ...nothing, state: "done", handled: 1 },
    { ...nothing, state: "ignored" },
    { ...nothing, state: "dead", last_error: "hopeless" },
    { ...nothing, state: "pending", due_at_ms: NOW_MS + 5_001, finished_at_ms: null, last_error: "again" },
  ]);
});

describe("retention", () => {
  test("never deletes the newest id, whose seq the next event would get again", async () => {
    const { inbox, db, claims, claim } = setUp({ events: 2 });
    for (const event of claim()) claims.settle(event, DONE, NOW_MS);
    const write = async <Result>(statements: () => Result): Promise<Result> => statements();
    const retention = createRetention({ inbox, db, write, pause: async () => undefined });
    expect(await retention.pruneBodies(NOW_MS + 1)).toBe(2);
    expect(await retention.pruneIds(NOW_MS + 1)).toBe(1);
    createAccept(inbox)(newEvents(1), NOW_MS);
    expect(claim()).toMatchObject([{ seq: 3, attempts: 1 }]);
  });

  test("leaves alone what was requeued after it had looked", async () => {
    const { inbox, db, claims, claim } = setUp({ events: 2 });
    for (const event of claim()) claims.settle(event, IGNORED, NOW_MS);
    const retention = createRetention({
      inbox,
      db,
      write: async (statements) => {
        db.exec("UPDATE work SET state = 'pending', due_at_ms = 0 WHERE seq = 1 AND state = 'ignored'");
        return statements();
      },
      pause: async () => undefined,
    });
    expect(await retention.pruneBodies(NOW_MS + 1)).toBe(1);
    expect(claim()).toMatchObject([{ seq: 1 }]);
  });
});

test("an id that came to name what reconcile had enqueued is known for as long as ids are kept", async () => {
  const { inbox, db, claims, claim } = setUp({ events: 0 });
  const store = createAccept(inbox);
  const found = newEvent({ objectId: "call_1", source: "reconcile" });
  const brought = newEvent({ objectId: "call_1" });
  expect(store([found], NOW_MS)).toEqual([{ duplicate: false }]);
  expect(store([brought], NOW_MS + HOUR_MS)).toEqual([{ duplicate: true }]);
  store([newEvent()], NOW_MS + HOUR_MS);
  for (const event of claim()) claims.settle(event, DONE, NOW_MS);
  const write = async <Result>(statements: () => Result): Promise<Result> => statements();
  const retention = createRetention({ inbox, db, write, pause: async () => undefined });
  await retention.pruneBodies(NOW_MS + 1);
  expect(await retention.pruneIds(NOW_MS + 1)).toBe(1);
  expect(store([brought], NOW_MS + 2 * HOUR_MS)).toEqual([{ duplicate: true }]);
});

describe("a worker", () => {
  function watched() {
    const { db } = setUp({ events: 0 });
    const time = { nowMs: NOW_MS, monotonicMs: 0 };
    const clock = {
      nowMs: () => time.nowMs,
      monotonicMs: () => time.monotonicMs,
      sleep: () => Promise.reject(new Error("nobody sleeps here")),
      after: () => () => undefined,
    };
    const workers = createWorkers(db, clock);
    const other = workers.register("other");
    const mine = workers.register("mine");
    const pass = (ms: number): void => {
      time.nowMs += ms;
      time.monotonicMs += ms;
    };
    return { workers, time, other, mine, pass };
  }

  test("is not gone because the clock was set, unless it stands still as well", () => {
    const { workers, time, other, mine } = watched();
    expect(workers.vanished(mine)).toEqual([]);
    time.nowMs += HOUR_MS;
    time.monotonicMs += 599;
    expect(workers.vanished(mine)).toEqual([]);
    time.monotonicMs += 1;
    expect(workers.vanished(mine)).toEqual([other]);
    workers.beat(other);
    expect(workers.vanished(mine)).toEqual([]);
  });

  test("is gone when it stood still for a whole lease, whatever the clock says", () => {
    const { workers, time, other, mine } = watched();
    workers.vanished(mine);
    time.nowMs -= HOUR_MS;
    time.monotonicMs += 29_999;
    expect(workers.vanished(mine)).toEqual([]);
    time.monotonicMs += 1;
    expect(workers.vanished(mine)).toEqual([other]);
  });

  test("is not gone before its lease is over, and at once when somebody knows it", () => {
    const { workers, other, mine, pass } = watched();
    workers.vanished(mine);
    pass(29_999);
    expect(workers.vanished(mine)).toEqual([]);
    expect(workers.vanished(mine, (id) => id === "other")).toEqual([other]);
    pass(1);
    expect(workers.vanished(mine)).toEqual([other]);
  });

  test("that removed itself and could not return everything is gone at once", () => {
    const { db, claim } = setUp({ events: 1 });
    const workers = createWorkers(db, systemClock);
    const mine = workers.register("mine");
    const other = workers.register("other");
    claim({ worker: other });
    expect(workers.vanished(mine)).toEqual([]);
    workers.remove(other);
    expect(workers.vanished(mine)).toEqual([other]);
  });

  test("that was removed can beat no more", () => {
    const { workers, other } = watched();
    expect(workers.beat(other)).toBe(true);
    workers.remove(other);
    expect(workers.beat(other)).toBe(false);
  });
});
