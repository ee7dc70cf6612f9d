import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { AcceptResult, NewEvent } from "../../receiver/engine.ts";
import { createGroupCommit } from "../../receiver/intake/group-commit.ts";
import { newEventId } from "./helpers/events.ts";
import { handClock } from "./helpers/intake.ts";
import { signalled } from "./helpers/until.ts";

function newEvent(bodyBytes = 10): NewEvent {
  const body = Buffer.alloc(bodyBytes);
  return { id: newEventId(), type: "t", objectId: null, source: "webhook", body, trace: null };
}

/** An engine whose commits are finished by hand. */
function slowEngine() {
  const commits: { batch: readonly NewEvent[]; finish: (result?: AcceptResult) => void }[] = [];
  const accept = async (batch: readonly NewEvent[]): Promise<AcceptResult> => {
    const done = signalled<AcceptResult>();
    const good: AcceptResult = { ok: true, acceptances: batch.map(() => ({ duplicate: false })) };
    commits.push({ batch, finish: (result = good) => done.give(result) });
    return done.promise;
  };
  return { commits, accept };
}

const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const STORED = { ok: true, acceptance: { duplicate: false } };
const TIMEOUT = { ok: false, reason: "timeout" };

test("what arrives together and during a commit is committed together, and nothing is answered before its own commit", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ ...engine, clock: systemClock });
  const answered: number[] = [];
  const add = async (index: number): Promise<unknown> => store(newEvent()).then(() => answered.push(index));
  const stores = [add(0), add(1)];
  await settled();
  stores.push(add(2), add(3), add(4));
  await settled();
  expect(engine.commits.map(({ batch }) => batch.length)).toEqual([2]);
  expect(answered).toEqual([]);
  engine.commits[0]!.finish();
  await settled();
  expect(answered).toEqual([0, 1]);
  expect(engine.commits.map(({ batch }) => batch.length)).toEqual([2, 3]);
  engine.commits[1]!.finish();
  await Promise.all(stores);
  expect(answered).toEqual([0, 1, 2, 3, 4]);
});

test("a commit that fails is a no to each of its events, and the next is tried", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ ...engine, clock: systemClock });
  const first = store(newEvent());
  await settled();
  const second = store(newEvent());
  engine.commits[0]!.finish({ ok: false, reason: "full", detail: "no room" });
  expect(await first).toEqual({ ok: false, reason: "full", detail: "no room" });
  await settled();
  engine.commits[1]!.finish();
  expect(await second).toEqual(STORED);
});

test("each event gets the answer to itself; one without an answer was not stored", async () => {
  const store = createGroupCommit({
    accept: async () => ({ ok: true, acceptances: [{ duplicate: true }, { duplicate: false }] }),
    clock: systemClock,
  });
  const [first, second, third] = [store(newEvent()), store(newEvent()), store(newEvent())];
  expect(await first).toEqual({ ok: true, acceptance: { duplicate: true } });
  expect(await second).toEqual(STORED);
  expect(await third).toMatchObject({ ok: false, reason: "io_error" });
});

test("an engine that throws is a no as well", async () => {
  const accept = () => Promise.reject(new Error("surprise"));
  const store = createGroupCommit({ accept, clock: systemClock });
  expect(await store(newEvent())).toEqual({ ok: false, reason: "io_error", detail: "surprise" });
});

test("what waits is bounded in bytes and in number, and room returns", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ ...engine, clock: systemClock });
  const finishAll = async (): Promise<void> => {
    for (let next = 0; ; next += 1) {
      await settled();
      if (!engine.commits[next]) return;
      engine.commits[next]!.finish();
    }
  };
  const big = Array.from({ length: 65 }, () => store(newEvent(1_048_576)));
  expect(await big.at(-1)).toMatchObject({ ok: false, reason: "overloaded" });
  await finishAll();
  expect(await big.at(-2)).toEqual(STORED);
  // A commit is bounded too: eight of these at a time.
  expect(Math.max(...engine.commits.map(({ batch }) => batch.length))).toBe(8);

  engine.commits.length = 0;
  const many = Array.from({ length: 10_001 }, () => store(newEvent(1)));
  expect(await many.at(-1)).toMatchObject({ ok: false, reason: "overloaded" });
  await finishAll();
  const answers = await Promise.all(many);
  expect(answers.filter((answer) => isDeepStrictEqual(answer, STORED))).toHaveLength(10_000);

  // All of the room is there again, not only some of it.
  engine.commits.length = 0;
  const again = Array.from({ length: 10_001 }, () => store(newEvent(1)));
  await finishAll();
  const refused = (await Promise.all(again)).map((answer) => !isDeepStrictEqual(answer, STORED));
  expect(refused.filter(Boolean)).toHaveLength(1);
  expect(refused.at(-1)).toBe(true);
});

test("what a commit holds is counted until that has ended", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ ...engine, clock: systemClock });
  for (let event = 0; event < 64; event += 1) void store(newEvent(1_048_576));
  await settled();
  expect(engine.commits.map(({ batch }) => batch.length)).toEqual([8]);
  expect(await Promise.race([store(newEvent(1)), settled()])).toMatchObject({ reason: "overloaded" });
  engine.commits[0]!.finish();
  await settled();
  expect(await Promise.race([store(newEvent(1)), settled()])).toBeUndefined();
});

test.each([
  [10, [1_024, 1_024, 2]],
  [2_097_152, [4, 4, 1]],
  [1_048_577, [7, 7, 1]],
])("of many events of %i bytes so many go into one commit: %j", async (bytes, batches) => {
  const engine = slowEngine();
  const store = createGroupCommit({ ...engine, clock: systemClock });
  const first = store(newEvent());
  await settled();
  const count = batches.reduce((sum, events) => sum + events, 0);
  const stores = Array.from({ length: count }, () => store(newEvent(bytes)));
  for (let commit = 0; commit <= batches.length; commit += 1) {
    engine.commits[commit]!.finish();
    await settled();
  }
  await Promise.all([first, ...stores]);
  expect(engine.commits.map(({ batch }) => batch.length)).toEqual([1, ...batches]);
});

test("an event larger than a commit may be is committed alone", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ ...engine, clock: systemClock });
  const stored = [store(newEvent(10)), store(newEvent(16 * 1_048_576)), store(newEvent(10))];
  for (const batches of [[1], [1, 1], [1, 1, 1]]) {
    await settled();
    expect(engine.commits.map(({ batch }) => batch.length)).toEqual(batches);
    engine.commits.at(-1)!.finish();
  }
  expect(await Promise.all(stored)).toEqual([STORED, STORED, STORED]);
});

test("what has no answer 8 s after it arrived is answered as a time-out, in a commit or waiting behind one", async () => {
  const engine = slowEngine();
  const clock = handClock();
  const store = createGroupCommit({ ...engine, clock });
  const answers: Record<string, unknown> = {};
  const add = (name: string): void => void store(newEvent()).then((answer) => (answers[name] = answer));
  add("committing");
  await settled();
  clock.pass(3_000);
  add("waiting");
  clock.pass(4_999);
  await settled();
  expect(answers).toEqual({});
  clock.pass(1);
  await settled();
  expect(answers).toMatchObject({ committing: TIMEOUT });
  clock.pass(2_999);
  await settled();
  expect(answers["waiting"]).toBeUndefined();
  clock.pass(1);
  await settled();
  expect(answers).toMatchObject({ waiting: TIMEOUT });

  // The late end changes nothing, and what was refused while it waited is not committed any more.
  add("after");
  engine.commits[0]!.finish();
  await settled();
  expect(engine.commits.map(({ batch }) => batch.length)).toEqual([1, 1]);
  engine.commits[1]!.finish();
  await settled();
  expect(answers).toMatchObject({ committing: TIMEOUT, waiting: TIMEOUT, after: STORED });
});

test("a commit that never ends makes nobody wait longer, and what waited behind it makes room", async () => {
  const clock = handClock();
  const store = createGroupCommit({ accept: () => new Promise(() => undefined), clock });
  const stuck = store(newEvent());
  await settled();
  for (let round = 0; round < 3; round += 1) {
    const stored = Array.from({ length: 40 }, () => store(newEvent(1_048_576)));
    await settled();
    clock.pass(8_000);
    for (const answer of await Promise.all(stored)) expect(answer).toMatchObject(TIMEOUT);
  }
  expect(await stuck).toMatchObject(TIMEOUT);
});

test.each([
  ["in its commit", true],
  ["behind one", false],
])(
  "an event whose time is up %s is counted out once: as many as before may be held",
  async (_where, isCommitting) => {
    const engine = slowEngine();
    const clock = handClock();
    const store = createGroupCommit({ ...engine, clock });
    const isHeld = async (): Promise<boolean> =>
      (await Promise.race([store(newEvent(8 * 1_048_576)), settled()])) === undefined;
    if (!isCommitting) {
      void store(newEvent());
      await settled();
    }
    const late = Array.from({ length: 4 }, () => store(newEvent(8 * 1_048_576)));
    await settled();
    clock.pass(8_000);
    for (const answer of await Promise.all(late)) expect(answer).toMatchObject(TIMEOUT);
    for (const { finish } of engine.commits) finish();
    await settled();
    // 64 MiB, and not one event more.
    const held: boolean[] = [];
    for (let event = 0; event < 13; event += 1) held.push(await isHeld());
    expect(held).toEqual(held.map((_, at) => at < 8));
  },
);

test("an event that has its answer leaves no timer behind", async () => {
  const engine = slowEngine();
  const waiting = new Set<() => void>();
  const after: typeof systemClock.after = (_ms, run) => {
    waiting.add(run);
    return () => void waiting.delete(run);
  };
  const store = createGroupCommit({ ...engine, clock: { ...systemClock, after } });
  const stored = [store(newEvent()), store(newEvent())];
  await settled();
  expect(waiting.size).toBe(2);
  engine.commits[0]!.finish();
  await Promise.all(stored);
  expect(waiting.size).toBe(0);
});
