import { expect, onTestFinished, test } from "vitest";
import type { Claim, FailedJob, Handled, Outcome, ProcessOptions } from "../../../receiver/engine.ts";
import type { Ending } from "../../../receiver/engines/ending.ts";
import {
  createLoop,
  type Asked,
  type Job,
  type JobStore,
  type Loop,
} from "../../../receiver/engines/loop.ts";
import { handler } from "../engine-suite/harness.ts";
import { standingClock } from "../helpers/clock.ts";

/** The loop of every engine, over a database that does what the test says. */

const REST_MS = 100;
const AHEAD_MS = 1_000;

function job(place: number, overrides: Partial<Job> = {}): Job {
  return {
    handler: "everything",
    id: `evt_${String(place)}`,
    type: "call.completed",
    receivedAtMs: 0,
    waitingSinceMs: 0,
    attempt: 1,
    body: "{}",
    trace: null,
    suspect: false,
    ...overrides,
  };
}

const turn = async (): Promise<void> => new Promise(setImmediate);

/** A loop with two slots, whose handlers and endings wait for the test; `due` is what the next claims bring. */
async function setUp(due: Job[][], overrides: Partial<ProcessOptions & JobStore<Job>> = {}) {
  const clock = standingClock();
  const begun = new Map<string, { claim: Claim; end: (outcome: Outcome) => void }>();
  const settled: { id: string; ending: Ending | undefined; store: (isStored: boolean) => void }[] = [];
  const asked: Asked[] = [];
  const handled: Handled[] = [];
  const verbs: string[] = [];
  let isOver = false;
  let loop: Loop<Job> | undefined;
  const never = (): never => expect.unreachable("This is not asked here.");
  const processor = createLoop<Job>(
    clock,
    {
      handlers: [handler({ backoffMs: () => 7_000, maximumAttempts: 2 })],
      workerId: "worker",
      concurrency: 2,
      handle: async (claim) => new Promise((end) => begun.set(claim.id, { claim, end })),
      onHandled: (one) => void handled.push(one),
      onTrouble: (error) => expect.unreachable(String(error)),
      ...overrides,
    },
    (given) => {
      loop = given;
      return {
        restMs: REST_MS,
        aheadMs: AHEAD_MS,
        beat: async () => void verbs.push("beat"),
        doubt: () => void verbs.push("doubt"),
        claim: async (one) => {
          asked.push(one);
          return due.shift() ?? [];
        },
        transact: never,
        steps: () => ({ find: never, record: never }),
        settle: async ({ id }, ending) =>
          isOver || new Promise((store) => settled.push({ id, ending, store })),
        leave: async () => void verbs.push("leave"),
        ...overrides,
      };
    },
  );
  onTestFinished(async () => {
    isOver = true;
    const drained = processor.drain(0);
    for (const { store } of settled) store(true);
    await clock.pass(2_000);
    await drained;
  });
  await turn();
  const held = (): string[] => (loop?.held() ?? []).map(({ id }) => id);
  return { clock, begun, settled, asked, handled, verbs, held, processor, loop: () => loop };
}

test("a job whose end is on its way has given its slot back, and is held until that is stored", async () => {
  const { begun, settled, handled, held, clock } = await setUp([[job(1), job(2), job(3)]]);
  expect([...begun.keys()]).toEqual(["evt_1", "evt_2"]);
  expect(held()).toEqual(["evt_3", "evt_1", "evt_2"]);
  await clock.pass(250);
  begun.get("evt_1")?.end({ kind: "done" });
  await turn();
  expect([...begun.keys()]).toEqual(["evt_1", "evt_2", "evt_3"]);
  expect(settled).toMatchObject([{ id: "evt_1", ending: { state: "done", error: null } }]);
  expect(held()).toEqual(["evt_1", "evt_2", "evt_3"]);
  expect(handled).toEqual([]);
  settled[0]?.store(true);
  await turn();
  expect(held()).toEqual(["evt_2", "evt_3"]);
  expect(handled).toEqual([
    {
      handler: "everything",
      id: "evt_1",
      type: "call.completed",
      attempt: 1,
      outcome: "done",
      durationMs: 250,
    },
  ]);
});

test("of claims that are another worker's by now those that run are aborted, and those that wait are not begun", async () => {
  const { begun, held, loop, settled } = await setUp([[job(1), job(2), job(3), job(4)]]);
  loop()?.lose((loop()?.held() ?? []).filter(({ id }) => id === "evt_2" || id === "evt_3"));
  expect(begun.get("evt_1")?.claim.signal.aborted).toBe(false);
  expect(begun.get("evt_2")?.claim.signal.reason).toMatchObject({ name: "LeaseLost" });
  expect(held()).toEqual(["evt_4", "evt_1", "evt_2"]);
  begun.get("evt_2")?.end({ kind: "failed", error: "aborted" });
  await turn();
  // Given back rather than written down as failed: that changes nothing where it is another's.
  expect(settled).toMatchObject([{ id: "evt_2", ending: undefined }]);
  expect([...begun.keys()]).toEqual(["evt_1", "evt_2", "evt_4"]);
});

test.each<[Outcome, number, Ending, Partial<Handled>]>([
  [{ kind: "done" }, 2, { state: "done", error: null }, { outcome: "done" }],
  [
    { kind: "failed", error: "no" },
    1,
    { state: "pending", error: "no", delayMs: 7_000 },
    { outcome: "failed", error: "no" },
  ],
  [{ kind: "failed", error: "no" }, 2, { state: "dead", error: "no" }, { outcome: "dead", error: "no" }],
  [{ kind: "dead", error: "no" }, 1, { state: "dead", error: "no" }, { outcome: "dead", error: "no" }],
  [
    { kind: "later", reason: "no", delayMs: 5 },
    2,
    { state: "pending", error: "no", delayMs: 5, deferred: true },
    { outcome: "later", error: "no" },
  ],
])(
  "what ended as %j at attempt %i is settled and told as such, or as lost, or as done where that was committed",
  async (outcome, attempt, ending, told) => {
    for (const [isStored, isCompleted, seen] of [
      [true, undefined, told],
      [false, undefined, { ...told, outcome: "lost" }],
      [false, async () => false, { ...told, outcome: "lost" }],
      [false, async () => Promise.reject(new Error("away")), { ...told, outcome: "lost" }],
      [false, async () => true, { outcome: "done" }],
    ] as const) {
      const { begun, settled, handled, held } = await setUp([[job(1, { attempt })]], {
        ...(isCompleted && { isCompleted }),
      });
      begun.get("evt_1")?.end(outcome);
      await turn();
      expect(settled).toMatchObject([{ id: "evt_1", ending }]);
      settled[0]?.store(isStored);
      await turn();
      expect(handled).toMatchObject([{ attempt, ...seen }]);
      expect(held()).toEqual([]);
    }
  },
);

test("what was claimed ahead goes back when nothing has ended for a while, and what runs stays", async () => {
  const { clock, settled, held } = await setUp([[job(1), job(2), job(3)]]);
  await clock.pass(AHEAD_MS);
  expect(settled).toEqual([]);
  await clock.pass(REST_MS);
  expect(settled).toMatchObject([{ id: "evt_3", ending: undefined }]);
  expect(held()).toEqual(["evt_1", "evt_2"]);
});

test("a database is told of how much room there is, what has ended, and whether more would be ahead", async () => {
  const { clock, asked, begun, settled, processor } = await setUp([[job(1), job(2), job(3)], [], []]);
  expect(asked).toEqual([{ free: 2, isAhead: false, ended: 0 }]);
  await clock.pass(REST_MS);
  expect(asked.at(-1)).toEqual({ free: 0, isAhead: true, ended: 0 });
  for (const id of ["evt_1", "evt_2"]) begun.get(id)?.end({ kind: "done" });
  await turn();
  for (const { store } of settled) store(true);
  await turn();
  expect(asked.find((one) => one.ended > 0)).toEqual({ free: 1, isAhead: false, ended: 2 });
  const before = asked.length;
  processor.wake();
  await turn();
  expect(asked.slice(before)).toEqual([{ free: 1, isAhead: false, ended: 0 }]);
});

test("while a suspect is held nothing is claimed, and after it there is, and the others go first", async () => {
  const { clock, asked, begun, settled, loop } = await setUp([[job(1, { suspect: true })]]);
  loop()?.turns.othersHadTheirs();
  await clock.pass(5 * REST_MS);
  expect(asked).toHaveLength(1);
  begun.get("evt_1")?.end({ kind: "done" });
  await turn();
  expect(loop()?.turns.isOthers()).toBe(false);
  settled[0]?.store(true);
  await turn();
  expect(loop()?.turns.isOthers()).toBe(true);
  expect(asked).toHaveLength(2);
  expect(asked[1]).toMatchObject({ free: 2, ended: 1 });
});

test("what a handler's own limit leaves counts those that wait as well; one of all slots or more is none", async () => {
  const most = (concurrency: number) => handler({ name: `${String(concurrency)} at a time`, concurrency });
  const { loop } = await setUp([[1, 2, 3].map((place) => job(place, { handler: "1 at a time" }))], {
    handlers: [most(1), most(2), most(9)],
  });
  expect(loop()?.room("1 at a time")).toBe(-2);
  expect(loop()?.room("2 at a time")).toBe(Infinity);
  expect(loop()?.room("9 at a time")).toBe(Infinity);
});

test("who is asked for one job claims it once, and nothing after it", async () => {
  const { clock, asked, begun, settled } = await setUp([[], [job(1)], [job(2)]], {
    only: { handler: "everything", id: "evt_1" },
  });
  await clock.pass(REST_MS);
  expect([...begun.keys()]).toEqual(["evt_1"]);
  begun.get("evt_1")?.end({ kind: "done" });
  await turn();
  settled[0]?.store(true);
  await clock.pass(10 * REST_MS);
  expect(asked).toHaveLength(2);
});

test("trouble is told once as long as it is the same, rested from, and doubts what was written", async () => {
  const troubles: unknown[] = [];
  const away = new Error("away");
  let isAway = true;
  const { clock, verbs, begun } = await setUp([[job(1)]], {
    onTrouble: (error) => void troubles.push(error),
    beat: async () => {
      if (isAway) throw away;
    },
  });
  await clock.pass(600);
  expect(troubles).toEqual([away]);
  expect(verbs).toEqual(["doubt", "doubt", "doubt"]);
  isAway = false;
  await clock.pass(250);
  expect([...begun.keys()]).toEqual(["evt_1"]);
});

test("a drain gives back at once what waits, aborts what runs at its end, and tells of what failed", async () => {
  const { clock, processor, begun, settled, handled, held, verbs } = await setUp([[job(1), job(2), job(3)]]);
  const failed: FailedJob = { handler: "everything", id: "evt_2", error: "it is stuck" };
  const drained = processor.drain(2_000, [failed]);
  await turn();
  expect(settled).toMatchObject([{ id: "evt_3", ending: undefined }]);
  settled[0]?.store(true);
  await turn();
  await clock.pass(1_000);
  // Claims are kept meanwhile.
  expect(verbs.filter((verb) => verb === "beat").length).toBeGreaterThan(3);
  expect(begun.get("evt_1")?.claim.signal.aborted).toBe(false);
  await clock.pass(750);
  for (const { claim } of begun.values()) expect(String(claim.signal.reason)).toContain("shutting down");
  await clock.pass(500);
  expect(settled.slice(1)).toMatchObject([
    { id: "evt_1", ending: undefined },
    { id: "evt_2", ending: { state: "pending", error: "it is stuck", delayMs: 7_000 } },
  ]);
  expect(verbs).not.toContain("leave");
  for (const { store } of settled) store(true);
  await drained;
  // Their handlers end now, of the signal: nobody took these jobs from this worker.
  for (const { end } of begun.values()) end({ kind: "failed", error: "aborted" });
  await turn();
  for (const { store } of settled.slice(3)) store(false);
  await turn();
  expect(settled).toHaveLength(5);
  expect(handled).toMatchObject([{ id: "evt_2", outcome: "failed", error: "it is stuck" }]);
  expect(held()).toEqual([]);
  expect(verbs.at(-1)).toBe("leave");
  expect(begun.has("evt_3")).toBe(false);
});

test("an end that cannot be written down is tried until it is, but once only while the worker drains", async () => {
  const tries: string[] = [];
  const { clock, begun, processor, verbs } = await setUp([[job(1), job(2)]], {
    onTrouble: () => undefined,
    settle: async ({ id }) => {
      tries.push(id);
      return Promise.reject(new Error("away"));
    },
  });
  begun.get("evt_1")?.end({ kind: "done" });
  await turn();
  await clock.pass(1_000);
  expect(tries).toEqual(Array(5).fill("evt_1"));
  const drained = processor.drain(1_000);
  await clock.pass(300);
  tries.length = 0;
  begun.get("evt_2")?.end({ kind: "done" });
  await turn();
  await clock.pass(5_000);
  await drained;
  expect(tries).toEqual(["evt_2"]);
  expect(verbs.at(-1)).toBe("leave");
});
