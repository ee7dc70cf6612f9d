import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { JobHandler } from "../../../receiver/engine.ts";
import type { Ending } from "../../../receiver/engines/ending.ts";
import { createAccept } from "../../../receiver/engines/sqlite/accept.ts";
import { createCounts } from "../../../receiver/engines/sqlite/counts.ts";
import { createRetention } from "../../../receiver/engines/sqlite/retention.ts";
import type { ClaimedJob } from "../../../receiver/engines/sqlite/taking.ts";
import { createLease } from "../../../receiver/engines/sqlite/workers.ts";
import { handler, newEvent, newEvents } from "../engine-suite/harness.ts";
import { announcedParts, openFiles } from "../helpers/parts.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

/** The verbs of the two files by themselves, where the loop around them would hide how exact they are. */

const HOUR_MS = 3_600_000;
const NOW_MS = 10_000 * HOUR_MS;

const DONE: Ending = { state: "done", error: null };
const seqOf = ({ job }: { job: number }): number => Math.floor(job / 1_024);
const again = (delayMs: number): Ending => ({ state: "pending", error: "again", delayMs });

const CLAIM = {
  nowMs: NOW_MS,
  worker: () => 1,
  limit: 10,
  room: () => Infinity,
  suspects: "later" as const,
};

/** Retention whose transactions are the statements themselves, and which rests for nobody. */
const AT_ONCE = {
  write: async <Result>(statements: () => Result): Promise<Result> => statements(),
  pause: async () => undefined,
};

function setUp({ events, ...policies }: { events: number } & Partial<JobHandler>) {
  const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
  const { claims, settling } = announcedParts({
    db,
    inbox,
    clock: systemClock,
    policies: [handler({ backoffMs: () => HOUR_MS, ...policies })],
  });
  createAccept(inbox)(newEvents(events), NOW_MS);
  const claim = (given: Partial<typeof CLAIM> = {}) => claims.claim({ ...CLAIM, ...given }).claimed;
  const claimSuspect = (nowMs = NOW_MS) => claims.claim({ ...CLAIM, nowMs, suspects: "now" }).claimed[0];
  const claimOnly = (id: string) =>
    claims.claim({ ...CLAIM, only: { handler: handler().name, id } }).claimed[0];
  return { inbox, db, settling, claim, claimSuspect, claimOnly };
}

describe("a job whose worker vanished", () => {
  test("is claimed by itself, and not among the others", () => {
    const { settling, claim, claimSuspect } = setUp({ events: 3 });
    expect(claim({ limit: 2 })).toHaveLength(2);
    settling.takeBack(1, NOW_MS, "expired");
    expect(claim()).toMatchObject([{ id: expect.anything(), attempt: 1, suspect: false }]);
    expect(claimSuspect()).toMatchObject({ attempt: 1, suspect: true });
    expect(claimSuspect()).toMatchObject({ attempt: 1, suspect: true });
    expect(claimSuspect()).toBeUndefined();
  });

  test("has its attempt counted when it ran alone, and waits for its backoff after a crash", () => {
    const { settling, claim, claimSuspect } = setUp({ events: 1, backoffMs: () => 20_000 });
    claim();
    settling.takeBack(1, NOW_MS, "crashed");
    expect(claimSuspect(NOW_MS + 19_999)).toBeUndefined();
    expect(claimSuspect(NOW_MS + 20_000)).toMatchObject({ attempt: 2 });
  });

  test("waits for a lease at the most after a crash, and not at all when its lease was over", () => {
    const { settling, claim, claimSuspect } = setUp({ events: 1 });
    claim();
    settling.takeBack(1, NOW_MS, "crashed");
    expect(claimSuspect(NOW_MS + 29_999)).toBeUndefined();
    expect(claimSuspect(NOW_MS + 30_000)).toMatchObject({ attempt: 2 });
    settling.takeBack(1, NOW_MS, "expired");
    expect(claimSuspect()).toMatchObject({ attempt: 3 });
  });

  test("stays a suspect when it is given back, and is none once it has failed", () => {
    const { settling, claim, claimSuspect } = setUp({ events: 1 });
    claim();
    settling.takeBack(1, NOW_MS, "expired");
    settling.return(claimSuspect()!);
    expect(claim()).toEqual([]);
    settling.settle(claimSuspect()!, again(0), NOW_MS);
    expect(claim()).toMatchObject([{ attempt: 3, suspect: false }]);
  });
});

describe("a job that failed", () => {
  test("is due at its time, not a millisecond before", () => {
    const { settling, claim } = setUp({ events: 1 });
    const [event] = claim();
    expect(settling.settle(event!, again(5_000), NOW_MS)).toBe(true);
    expect(claim({ nowMs: NOW_MS + 4_999 })).toEqual([]);
    expect(claim({ nowMs: NOW_MS + 5_000 })).toHaveLength(1);
  });

  test("is due at once when its time lies further ahead than any backoff: the clock was turned back", () => {
    const { settling, claim } = setUp({ events: 1 });
    const [event] = claim();
    settling.settle(event!, again(0), NOW_MS);
    expect(claim({ nowMs: NOW_MS - 39 * 24 * HOUR_MS })).toEqual([]);
    expect(claim({ nowMs: NOW_MS - 41 * 24 * HOUR_MS })).toHaveLength(1);
  });
});

test("of handlers that have jobs waiting, each claim begins with another one", () => {
  const policies = ["a", "b"].map((name) => handler({ name }));
  const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
  const { claims } = announcedParts({ db, inbox, clock: systemClock, policies });
  createAccept(inbox)(newEvents(8), NOW_MS);
  const claim = (limit: number) => claims.claim({ ...CLAIM, limit }).claimed;
  claim(0);
  const handlers = [1, 2, 3, 4].map(() => claim(1)[0]?.handler);
  expect(handlers).toEqual(handlers[0] === "a" ? ["a", "b", "a", "b"] : ["b", "a", "b", "a"]);
});

describe("a claim of large events", () => {
  const text = "x".repeat(1_048_576);
  const large = Array.from({ length: 12 }, () => newEvent({ body: Buffer.from(text) }));

  test("ends with the event that fills it, and the next goes on behind it", () => {
    const { inbox, claim } = setUp({ events: 0 });
    createAccept(inbox)(large, NOW_MS);
    expect(claim({ limit: 100 }).map(seqOf)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(claim({ limit: 100 }).map(seqOf)).toEqual([9, 10, 11, 12]);
  });

  test("keeps room for new events when many retries are due", () => {
    const { inbox, settling, claim } = setUp({ events: 0 });
    createAccept(inbox)(large, NOW_MS);
    for (const event of claim({ limit: 100 })) settling.settle(event, again(0), NOW_MS);
    expect(claim({ limit: 100 }).map(seqOf)).toEqual([1, 2, 3, 4, 9, 10, 11, 12]);
    expect(claim({ limit: 100 }).map(seqOf)).toEqual([5, 6, 7, 8]);
  });
});

test("a lease ends once: what was said first stands", () => {
  const { settling, claim } = setUp({ events: 1 });
  const [event] = claim();
  expect(settling.return(event!)).toBe(true);
  expect(settling.settle(event!, DONE, NOW_MS)).toBe(false);
  const [second] = claim();
  expect(settling.return({ ...second!, token: event!.token })).toBe(false);
  expect(settling.settle(second!, { state: "dead", error: "hopeless" }, NOW_MS)).toBe(true);
  for (const ending of [again(0), DONE]) expect(settling.settle(second!, ending, NOW_MS)).toBe(false);
});

test("each ending leaves its own marks, and none of the others'", () => {
  const { db, settling, claim } = setUp({ events: 3 });
  const endings: Ending[] = [DONE, { state: "dead", error: "hopeless" }, again(5_000)];
  for (const [index, event] of claim().entries()) settling.settle(event, endings[index]!, NOW_MS + 1);
  const rows = db.prepare(
    "SELECT state, handled, due_at_ms, finished_at_ms, last_error, worker FROM jobs ORDER BY job",
  );
  const nothing = { handled: 0, due_at_ms: null, finished_at_ms: NOW_MS + 1, last_error: null, worker: null };
  expect(rows.all()).toEqual([
    { ...nothing, state: "done", handled: 1 },
    { ...nothing, state: "dead", last_error: "hopeless" },
    { ...nothing, state: "pending", due_at_ms: NOW_MS + 5_001, finished_at_ms: null, last_error: "again" },
  ]);
});

describe("jobs with one key", () => {
  const key = (): string => "one";
  const split = { limit: 0, room: () => 0 };

  test("go on when the one before them dies with its worker", () => {
    const { settling, claim } = setUp({ events: 2, key, maximumAttempts: 1 });
    expect(claim().map(seqOf)).toEqual([1]);
    settling.takeBack(1, NOW_MS, "expired");
    expect(claim().map(seqOf)).toEqual([2]);
  });

  test("are counted for their handler, the first and those that wait for it", () => {
    const { inbox, db, claim } = setUp({ events: 3, key });
    claim(split);
    const counts = createCounts({ inbox, db });
    const { name } = handler();
    const nothing = { handler: name, pending: 0, claimed: 0, dead: 0, ignored: 0 };
    expect(counts(NOW_MS).byHandler).toEqual([{ ...nothing, pending: 3 }]);
    claim();
    expect(counts(NOW_MS).byHandler).toEqual([{ ...nothing, pending: 2, claimed: 1 }]);
  });

  test("end all as ignored when their handler is gone", () => {
    const { inbox, db, claim } = setUp({ events: 3, key });
    claim(split);
    const { handlers } = announcedParts({ db, inbox, clock: systemClock, policies: [] });
    handlers.ignoreGone(NOW_MS);
    expect(createCounts({ inbox, db })(NOW_MS).byState).toMatchObject({ pending: 0, ignored: 3 });
  });
});

test("a job that is done leaves no step behind, whichever process recorded it", () => {
  const { inbox, db, settling, claim } = setUp({ events: 1 });
  const [first] = claim();
  settling.recordStep(first!, "pdf", "1");
  settling.settle(first!, again(0), NOW_MS);
  const later = announcedParts({ db, inbox, clock: systemClock, policies: [handler()] });
  const [second] = later.claims.claim({ ...CLAIM, worker: () => 2 }).claimed;
  expect(later.settling.findStep(second!.job, "pdf")).toBe("1");
  later.settling.settle(second!, DONE, NOW_MS);
  expect(later.settling.findStep(second!.job, "pdf")).toBeUndefined();
});

test("the job that somebody asks for is found behind more new events than one look takes", () => {
  const { inbox, claimOnly } = setUp({ events: 1_100 });
  const last = newEvent();
  createAccept(inbox)([last], NOW_MS);
  expect(claimOnly(last.id)).toMatchObject({ id: last.id, attempt: 1 });
});

describe("retention", () => {
  test("goes on behind more dead letters than one batch has", async () => {
    const { inbox, db, settling, claim } = setUp({ events: 450 });
    const dead: Ending = { state: "dead", error: "hopeless" };
    for (const event of claim({ limit: 1_000 })) settling.settle(event, dead, NOW_MS);
    createAccept(inbox)(newEvents(2), NOW_MS);
    for (const event of claim({ limit: 1_000 })) settling.settle(event, DONE, NOW_MS);
    const retention = createRetention({ inbox, db, ...AT_ONCE });
    expect(await retention.pruneBodies(NOW_MS + 1)).toBe(2);
  });

  test("goes on where a power cut left the jobs of an event whose id is forgotten", async () => {
    const { inbox, db, settling, claim } = setUp({ events: 2 });
    for (const event of claim()) settling.settle(event, DONE, NOW_MS);
    inbox.exec("DELETE FROM events WHERE seq = 1");
    const retention = createRetention({ inbox, db, ...AT_ONCE });
    expect(await retention.pruneBodies(NOW_MS + 1)).toBe(2);
    expect(db.prepare("SELECT count(*) FROM jobs").pluck().get()).toBe(0);
  });

  test("never deletes the newest id, whose seq the next event would get again", async () => {
    const { inbox, db, settling, claim } = setUp({ events: 2 });
    for (const event of claim()) settling.settle(event, DONE, NOW_MS);
    const retention = createRetention({ inbox, db, ...AT_ONCE });
    expect(await retention.pruneBodies(NOW_MS + 1)).toBe(2);
    expect(await retention.pruneIds(NOW_MS + 1)).toBe(1);
    createAccept(inbox)(newEvents(1), NOW_MS);
    expect(claim()).toMatchObject([{ job: 3 * 1024 + 1, attempt: 1 }]);
  });

  test("leaves alone what was requeued after it had looked", async () => {
    const { inbox, db, settling, claim } = setUp({ events: 2 });
    for (const event of claim()) settling.settle(event, DONE, NOW_MS);
    const retention = createRetention({
      inbox,
      db,
      write: async (statements) => {
        db.exec("UPDATE jobs SET state = 'pending', due_at_ms = 0 WHERE job < 2048 AND state = 'done'");
        return statements();
      },
      pause: async () => undefined,
    });
    expect(await retention.pruneBodies(NOW_MS + 1)).toBe(1);
    expect(claim()).toMatchObject([{ job: 1024 + 1 }]);
  });
});

test("an id that came to name what reconcile had enqueued is known for as long as ids are kept", async () => {
  const { inbox, db, settling, claim } = setUp({ events: 0 });
  const store = createAccept(inbox);
  const found = newEvent({ objectId: "call_1", source: "reconcile" });
  const brought = newEvent({ objectId: "call_1" });
  expect(store([found], NOW_MS)).toEqual([{ duplicate: false }]);
  expect(store([brought], NOW_MS + HOUR_MS)).toEqual([{ duplicate: true }]);
  store([newEvent()], NOW_MS + HOUR_MS);
  for (const event of claim()) settling.settle(event, DONE, NOW_MS);
  const retention = createRetention({ inbox, db, ...AT_ONCE });
  await retention.pruneBodies(NOW_MS + 1);
  expect(await retention.pruneIds(NOW_MS + 1)).toBe(1);
  expect(store([brought], NOW_MS + 2 * HOUR_MS)).toEqual([{ duplicate: true }]);
});

describe("a worker", () => {
  /** One that holds a job, and whether another one that looks takes it for gone. */
  async function watched() {
    const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
    const time = { nowMs: NOW_MS, monotonicMs: 0 };
    const clock = {
      nowMs: () => time.nowMs,
      monotonicMs: () => time.monotonicMs,
      sleep: () => Promise.reject(new Error("nobody sleeps here")),
      after: () => () => undefined,
    };
    const parts = announcedParts({ db, inbox, clock, policies: [handler()] });
    createAccept(inbox)(newEvents(1), NOW_MS);
    const lost = vi.fn<() => void>();
    const held: ClaimedJob[] = [];
    const worker = createLease(parts, { workerId: "worker", held: () => held, onLost: lost });
    const claim = async () =>
      worker.asWorker((mine) => parts.claims.claim({ ...CLAIM, worker: mine }).claimed);
    held.push(...(await claim()));
    const watcher = createLease(parts, { workerId: "watcher", held: () => [], onLost: () => undefined });
    const isGone = async (): Promise<boolean> => {
      await watcher.beat();
      return db.prepare("SELECT state FROM jobs").pluck().get() === "suspect";
    };
    expect(await isGone()).toBe(false);
    return { worker, lost, time, isGone };
  }

  test.each([
    [749, false],
    [750, true],
  ])("is not gone because the clock was set, unless it stands still as well: for %i ms", async (ms, gone) => {
    const { worker, time, isGone } = await watched();
    time.nowMs += HOUR_MS;
    time.monotonicMs += ms - 300;
    await worker.beat();
    expect(await isGone()).toBe(false);
    time.nowMs += HOUR_MS;
    time.monotonicMs += ms;
    expect(await isGone()).toBe(gone);
  });

  test.each([
    [29_999, false],
    [30_000, true],
  ])(
    "is gone when it stood still for a whole lease, whatever the clock says: for %i ms",
    async (ms, gone) => {
      const { time, isGone } = await watched();
      time.nowMs -= HOUR_MS;
      time.monotonicMs += ms;
      expect(await isGone()).toBe(gone);
    },
  );

  test.each([
    [29_999, false],
    [30_000, true],
  ])("is not gone before its lease is over: after %i ms", async (ms, gone) => {
    const { time, isGone } = await watched();
    time.nowMs += ms;
    time.monotonicMs += 29_999;
    expect(await isGone()).toBe(gone);
  });

  test("that was taken for dead hears of it with its next beat, and gets another number", async () => {
    const { worker, lost, time, isGone } = await watched();
    const number = await worker.asWorker((mine) => mine());
    time.monotonicMs += 30_000;
    expect(await isGone()).toBe(false);
    time.monotonicMs += 30_000;
    expect(await isGone()).toBe(true);
    expect(lost).not.toHaveBeenCalled();
    expect(await worker.asWorker((mine) => mine())).toBeGreaterThan(number);
    expect(lost).toHaveBeenCalledOnce();
  });
});

test("a job whose envelope is gone is dead with that reason, and those with its key go on", () => {
  const key = (): string => "one";
  const { inbox, db, settling, claim } = setUp({ events: 3, key });
  claim({ limit: 0, room: () => 0 });
  inbox.exec("DELETE FROM events WHERE seq = 1");
  expect(claim()).toEqual([]);
  const [first] = db.prepare("SELECT * FROM jobs WHERE job < 2048").all();
  expect(first).toMatchObject({
    state: "dead",
    due_at_ms: null,
    key: null,
    finished_at_ms: NOW_MS,
    last_error: "Its envelope is not in the inbox file.",
  });
  createAccept(inbox)([newEvent()], NOW_MS);
  const order = [1, 2, 3].flatMap(() => {
    const [job] = claim();
    if (job) settling.settle(job, DONE, NOW_MS);
    return job ? [seqOf(job)] : [];
  });
  expect(order).toEqual([2, 3, 4]);
});

test("as many names of handlers are known as an event has numbers for them, and one more is refused", () => {
  const policies = Array.from({ length: 1_023 }, (_, index) => handler({ name: `h${String(index)}` }));
  const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
  const known = (more: JobHandler[]) =>
    announcedParts({ db, inbox, clock: systemClock, policies: [...policies, ...more] }).handlers.own();
  expect(known([]).at(-1)).toMatchObject({ number: 1_023, name: "h1022" });
  expect(() => known([handler({ name: "one more" })])).toThrow(
    "This database has seen more than 1023 names of handlers. Keep a handler's name when you change it.",
  );
});

describe("retention leaves in the inbox", () => {
  test.each([
    ["webhook", { type: "", object_id: null }],
    ["reconcile", { type: "call.completed", object_id: "call_1" }],
  ] as const)("of an event that came by %s what it is known by, and nothing else", async (source, known) => {
    const { inbox, db, settling, claim } = setUp({ events: 0 });
    const store = createAccept(inbox);
    const event = newEvent({ source, objectId: "call_1", trace: { requestId: "r_1" } });
    for (const atMs of [NOW_MS, NOW_MS + 1]) store([event], atMs);
    const [job] = claim();
    settling.recordStep(job!, "pdf", "1");
    settling.settle(job!, { state: "dead", error: "no" }, NOW_MS);
    db.exec("UPDATE jobs SET state = 'ignored'");
    await createRetention({ inbox, db, ...AT_ONCE }).pruneBodies(NOW_MS + 1);
    expect(inbox.prepare("SELECT * FROM events").all()).toEqual([
      {
        seq: 1,
        key: Buffer.from(event.id.slice(4), "hex"),
        source,
        received_at_ms: NOW_MS,
        duplicates: 0,
        handled: 0,
        body: null,
        trace: null,
        ...known,
      },
    ]);
    for (const table of ["jobs", "steps"])
      expect(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()).toBe(0);
  });
});

describe("a rate limit", () => {
  const rateLimit = { limit: 2, perMs: 1_000 };

  test("counts what began within its time, to the millisecond, and nothing of a clock that was turned back", () => {
    const { claim } = setUp({ events: 9, rateLimit });
    const begun = (nowMs: number): number => claim({ nowMs }).length;
    const seen = [0, 0, 999, 1_000, 1_000, 1_999, 2_000].map((ms) => begun(NOW_MS + ms));
    expect(seen).toEqual([2, 0, 0, 2, 0, 0, 2]);
    expect([begun(NOW_MS - HOUR_MS), begun(NOW_MS - HOUR_MS)]).toEqual([2, 0]);
  });

  test("holds for what vanished as well", () => {
    const { settling, claim, claimSuspect } = setUp({ events: 2, rateLimit });
    expect(claim()).toHaveLength(2);
    settling.takeBack(1, NOW_MS, "expired");
    expect(claimSuspect(NOW_MS + 999)).toBeUndefined();
    expect(claimSuspect(NOW_MS + 1_000)).toMatchObject({ suspect: true });
  });
});

test("of suspects of several handlers the one that is due for the longest time is first", () => {
  const policies = ["a", "b", "c"].map((name) =>
    handler({ name, types: [name], backoffMs: () => (name === "b" ? 10_000 : 20_000) }),
  );
  const { inbox, db } = openFiles(join(temporaryDirectory(), "receiver.db"));
  const { claims, settling } = announcedParts({ db, inbox, clock: systemClock, policies });
  for (const [index, { name }] of policies.entries()) {
    createAccept(inbox)([newEvent({ type: name })], NOW_MS);
    claims.claim({ ...CLAIM, worker: () => index + 1 });
    // Of "c" nobody knows that it crashed: it is due at once.
    settling.takeBack(index + 1, NOW_MS, name === "c" ? "expired" : "crashed");
  }
  const next = () => claims.claim({ ...CLAIM, nowMs: NOW_MS + 20_000, suspects: "now" }).claimed[0]?.handler;
  expect([next(), next(), next(), next()]).toEqual(["c", "b", "a", undefined]);
});
