import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { createGroupCommit } from "../../../receiver/intake/inbox.ts";
import type { Intake, NewEvent } from "../../../receiver/store/port.ts";
import { newEventId } from "../helpers/events.ts";
import { standingClock } from "../helpers/clock.ts";

type Result = Awaited<ReturnType<Intake["accept"]>>;

const MIB = 1_048_576;
const STORED = { ok: true, acceptance: { duplicate: false } };
const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function newEvent(bytes = 10): NewEvent {
  const body = Buffer.alloc(bytes);
  return { id: newEventId(), type: "t", objectId: null, source: "webhook", body, envelope: {} };
}

/** A store whose commits are finished by hand. */
function slowStore() {
  const commits: { size: number; finish: (result?: Result) => void }[] = [];
  const accept = async (batch: readonly NewEvent[]): Promise<Result> => {
    const { promise, resolve } = Promise.withResolvers<Result>();
    const good: Result = { ok: true, acceptances: batch.map(() => ({ duplicate: false })) };
    commits.push({ size: batch.length, finish: (result = good) => resolve(result) });
    return promise;
  };
  const sizes = (): number[] => commits.map(({ size }) => size);
  /** Finishes all open commits, until there is none. */
  const finishAll = async (): Promise<void> => {
    for (let next = 0; next < commits.length; next += 1) {
      commits[next]?.finish();
      await settled();
    }
  };
  return { commits, accept, sizes, finishAll };
}

test("what arrives during a commit is committed together, and nothing is answered before its own commit", async () => {
  const store = slowStore();
  const add = createGroupCommit({ ...store, clock: systemClock });
  const answered: number[] = [];
  const adding = [0, 1, 2, 3].map(async (index) => add(newEvent()).then(() => answered.push(index)));
  await settled();
  expect(store.sizes()).toEqual([1]);
  store.commits[0]?.finish();
  await settled();
  expect([answered, store.sizes()]).toEqual([[0], [1, 3]]);
  store.commits[1]?.finish();
  await Promise.all(adding);
  expect(answered).toEqual([0, 1, 2, 3]);
});

test("each event gets its own answer; a failed commit refuses its events, and the next is tried", async () => {
  const store = slowStore();
  const add = createGroupCommit({ ...store, clock: systemClock });
  const [first, second, third] = [add(newEvent()), add(newEvent()), add(newEvent())];
  const full: Result = { ok: false, reason: "full", detail: "no room" };
  store.commits[0]?.finish(full);
  expect(await first).toEqual(full);
  await settled();
  store.commits[1]?.finish({ ok: true, acceptances: [{ duplicate: true }, { duplicate: false }] });
  expect(await second).toEqual({ ok: true, acceptance: { duplicate: true } });
  expect(await third).toEqual(STORED);
});

test("a store that throws refuses its events as well", async () => {
  const accept = async () => Promise.reject(new Error("surprise"));
  const add = createGroupCommit({ accept, clock: systemClock });
  expect(await add(newEvent())).toMatchObject({
    ok: false,
    reason: "io_error",
    detail: expect.stringMatching("surprise"),
  });
});

test.each([
  { what: "in number", count: 10_000, bytes: 1 },
  { what: "in bytes, with what a commit holds", count: 64, bytes: MIB },
])("the waiting batch is bounded $what, and all of its memory is released", async ({ count, bytes }) => {
  const store = slowStore();
  const add = createGroupCommit({ ...store, clock: systemClock });
  for (const _ of [1, 2]) {
    const adding = Array.from({ length: count + 1 }, async () => add(newEvent(bytes)));
    expect(await adding.at(-1)).toMatchObject({ ok: false, reason: "overloaded" });
    await store.finishAll();
    expect(await Promise.all(adding.slice(0, -1))).toEqual(Array.from({ length: count }, () => STORED));
  }
});

test.each([
  { bytes: 10, sizes: [1_024, 1_024, 2] },
  { bytes: 2 * MIB, sizes: [4, 4, 1] },
  { bytes: 9 * MIB, sizes: [1, 1] },
])("events of $bytes bytes are committed in batches of $sizes", async ({ bytes, sizes }) => {
  const store = slowStore();
  const add = createGroupCommit({ ...store, clock: systemClock });
  void add(newEvent());
  const count = sizes.reduce((sum, size) => sum + size, 0);
  const adding = Array.from({ length: count }, async () => add(newEvent(bytes)));
  await store.finishAll();
  await Promise.all(adding);
  expect(store.sizes()).toEqual([1, ...sizes]);
});

test("an event without an answer after 8 s is answered as a timeout, in a commit or waiting for one, and once", async () => {
  const store = slowStore();
  const clock = standingClock();
  const add = createGroupCommit({ ...store, clock });
  const answers: Record<string, string> = {};
  const watch = (name: string): void =>
    void add(newEvent()).then((answer) => (answers[name] = answer.ok ? "stored" : answer.reason));
  watch("committing");
  await clock.pass(3_000);
  watch("waiting");
  await clock.pass(4_999);
  expect(answers).toEqual({});
  await clock.pass(1);
  expect(answers).toEqual({ committing: "timeout" });
  await clock.pass(3_000);
  expect(answers).toEqual({ committing: "timeout", waiting: "timeout" });
  watch("after");
  await store.finishAll();
  expect(answers).toEqual({ committing: "timeout", waiting: "timeout", after: "stored" });
  expect(clock.waiting()).toBe(0);
});
