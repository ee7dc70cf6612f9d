import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { AcceptResult, NewEvent } from "../../receiver/engine.ts";
import { createGroupCommit } from "../../receiver/intake/group-commit.ts";
import { newEventId } from "./helpers/events.ts";
import { signalled } from "./helpers/until.ts";

function newEvent(bodyBytes = 10): NewEvent {
  const body = Buffer.alloc(bodyBytes);
  return {
    id: newEventId(),
    type: "t",
    objectId: null,
    orderingKey: null,
    source: "webhook",
    receivedAtMs: 0,
    body,
  };
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

test("what arrives during a commit goes into the next one, together, and nothing is answered before its own", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ engine, clock: systemClock });
  const answered: number[] = [];
  const stores = Array.from({ length: 5 }, async (_, index) =>
    store(newEvent()).then(() => answered.push(index)),
  );
  await settled();
  expect(engine.commits.map(({ batch }) => batch.length)).toEqual([1]);
  expect(answered).toEqual([]);
  engine.commits[0]!.finish();
  await settled();
  expect(answered).toEqual([0]);
  expect(engine.commits.map(({ batch }) => batch.length)).toEqual([1, 4]);
  engine.commits[1]!.finish();
  await Promise.all(stores);
  expect(answered).toEqual([0, 1, 2, 3, 4]);
});

test("a commit that fails is a no to each of its events, and the next is tried", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ engine, clock: systemClock });
  const first = store(newEvent());
  const second = store(newEvent());
  engine.commits[0]!.finish({ ok: false, reason: "full", detail: "no room" });
  expect(await first).toEqual({ ok: false, reason: "full", detail: "no room" });
  await settled();
  engine.commits[1]!.finish();
  expect(await second).toEqual({ ok: true, acceptance: { duplicate: false } });
});

test("an engine that throws is a no as well", async () => {
  const store = createGroupCommit({
    engine: { accept: () => Promise.reject(new Error("surprise")) },
    clock: systemClock,
  });
  expect(await store(newEvent())).toEqual({ ok: false, reason: "io_error", detail: "surprise" });
});

test("what waits is bounded in bytes and in number, and room returns", async () => {
  const engine = slowEngine();
  const store = createGroupCommit({ engine, clock: systemClock });
  const big = Array.from({ length: 65 }, () => store(newEvent(1_048_576)));
  expect(await big.at(-1)).toMatchObject({ ok: false, reason: "overloaded" });
  engine.commits[0]!.finish();
  await settled();
  engine.commits[1]!.finish();
  await Promise.all(big);
  const many = Array.from({ length: 10_001 }, () => store(newEvent(1)));
  expect(await many.at(-1)).toMatchObject({ ok: false, reason: "overloaded" });
});

test("a commit that takes too long is answered as a time-out, and its late end changes nothing", async () => {
  const engine = slowEngine();
  let expire = (): void => undefined;
  const clock = {
    ...systemClock,
    after: (_ms: number, run: () => void) => {
      expire = run;
      return () => undefined;
    },
  };
  const store = createGroupCommit({ engine, clock });
  const stored = store(newEvent());
  expire();
  expect(await stored).toMatchObject({ ok: false, reason: "timeout" });
  engine.commits[0]!.finish();
  await settled();
  const next = store(newEvent());
  engine.commits[1]!.finish();
  expect(await next).toMatchObject({ ok: true });
});
