import { expect, onTestFinished, test } from "vitest";
import type { Claim, Handled, Outcome } from "../../../receiver/engine.ts";
import { createDatabase, createPool } from "../../../receiver/engines/postgres/connection.ts";
import { createHands } from "../../../receiver/engines/postgres/hands.ts";
import { createJobs, type ClaimedJob, type Settlement } from "../../../receiver/engines/postgres/jobs.ts";
import { handler } from "../engine-suite/harness.ts";
import { standingClock } from "../helpers/clock.ts";

/** What a worker holds, from its claims to their ends, without a server. */

function claimed(place: number, overrides: Partial<ClaimedJob> = {}): ClaimedJob {
  return {
    handler: "everything",
    job: `job ${String(place)}`,
    token: "token 1",
    suspect: false,
    attempt: 1,
    id: `evt_${String(place)}`,
    type: "call.completed",
    seq: place,
    receivedAtMs: 0,
    waitingSinceMs: 0,
    body: Buffer.from("{}"),
    trace: null,
    ...overrides,
  };
}

const keyOf = ({ handler: name, job, token }: ClaimedJob) => ({ handler: name, job, token });

/** Hands with two slots, whose handlers and endings wait for the test. */
function setUp() {
  const pool = createPool({
    url: "postgres://127.0.0.1:1/none",
    schema: "x",
    purpose: "test",
    connections: 1,
    connectTimeoutMs: 1,
  });
  onTestFinished(async () => pool.end());
  const prepare = (text: string, values: unknown[] = []) => ({ text, values });
  const begun = new Map<string, { claim: Claim; end: (outcome: Outcome) => void }>();
  const settlements: { settlement: Settlement; store: (isStored: boolean) => void }[] = [];
  const handled: Handled[] = [];
  const told: string[] = [];
  const clock = standingClock();
  const jobs = { ...createJobs(createDatabase(pool, prepare)), isCompleted: async () => false };
  const hands = createHands(
    { pool, prepare, schema: "x", clock, jobs },
    {
      handlers: [handler({ backoffMs: () => 7_000, maximumAttempts: 2 })],
      workerId: "worker",
      concurrency: 2,
      handle: async (claim) => new Promise((end) => begun.set(claim.id, { claim, end })),
      onHandled: (one) => void handled.push(one),
      onTrouble: (error) => expect.unreachable(String(error)),
    },
    {
      settle: async (settlement) => new Promise((store) => settlements.push({ settlement, store })),
      freed: ({ id }) => void told.push(`freed ${id}`),
      stored: () => void told.push("stored"),
    },
  );
  const turn = async (): Promise<void> => new Promise(setImmediate);
  return { hands, begun, settlements, handled, told, clock, turn };
}

test("a job whose end is on its way is held until it is stored: no look at the leases takes it for a stray", async () => {
  const { hands, begun, settlements, handled, told, clock, turn } = setUp();
  const [first, second, third] = [claimed(1), claimed(2), claimed(3)];
  hands.take([first, second, third]);
  expect([...begun.keys()]).toEqual(["evt_1", "evt_2"]);
  expect({ size: hands.size(), waiting: hands.waiting(), free: hands.free() }).toEqual({
    size: 3,
    waiting: 1,
    free: 0,
  });
  await clock.pass(250);
  begun.get("evt_1")?.end({ kind: "done" });
  await turn();
  // Its slot is another's by then, and itself is held all the same.
  expect([...begun.keys()]).toEqual(["evt_1", "evt_2", "evt_3"]);
  expect(told).toEqual(["freed evt_1"]);
  expect(settlements.map(({ settlement }) => settlement)).toEqual([
    { ...keyOf(first), state: "done", error: null },
  ]);
  expect(hands.claims()).toEqual([first, second, third].map(keyOf));
  expect(hands.compare([first, second, third].map(keyOf))).toEqual([]);
  expect(handled).toEqual([]);
  settlements[0]?.store(true);
  await turn();
  expect(told).toEqual(["freed evt_1", "stored"]);
  expect(hands.claims()).toEqual([second, third].map(keyOf));
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

test("what the database does not know is another's, what it alone knows is a stray, and both by their very claim", async () => {
  const { hands, begun, turn } = setUp();
  const [kept, lost] = [claimed(1), claimed(2)];
  hands.take([kept, lost]);
  const again = { ...keyOf(lost), token: "token 2" };
  const strays = [again, keyOf(claimed(3)), { ...keyOf(kept), handler: "another" }];
  expect(hands.compare([keyOf(kept), ...strays])).toEqual(strays);
  await turn();
  expect(begun.get("evt_1")?.claim.signal.aborted).toBe(false);
  expect(begun.get("evt_2")?.claim.signal.reason).toMatchObject({ name: "LeaseLost" });
  expect(hands.claims()).toEqual([keyOf(kept)]);
});

test.each<[Outcome, number, object, Partial<Handled>]>([
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
  "what ended as %j at attempt %i is settled and told as such, or as lost",
  async (outcome, attempt, ending, told) => {
    for (const isStored of [true, false]) {
      const { hands, begun, settlements, handled, turn } = setUp();
      hands.take([claimed(1, { attempt })]);
      begun.get("evt_1")?.end(outcome);
      await turn();
      expect(settlements.map(({ settlement }) => settlement)).toEqual([{ ...keyOf(claimed(1)), ...ending }]);
      settlements[0]?.store(isStored);
      await turn();
      expect(handled).toMatchObject([{ attempt, ...told, ...(isStored ? {} : { outcome: "lost" }) }]);
      expect([hands.size(), hands.areEmpty(), hands.free()]).toEqual([0, true, 2]);
    }
  },
);

test("at the end what waits and what runs is given back, its signal aborted, and what has failed is told as failed", async () => {
  const { hands, begun, settlements } = setUp();
  const [running, stuck, waiting] = [claimed(1), claimed(2), claimed(3)];
  hands.take([running, stuck, waiting]);
  hands.close();
  void hands.returnWaiting();
  void hands.returnAll([{ handler: "everything", id: "evt_2", error: "it is stuck" }]);
  expect(settlements.map(({ settlement }) => settlement)).toEqual([
    { ...keyOf(waiting), state: "returned" },
    { ...keyOf(running), state: "returned" },
    { ...keyOf(stuck), state: "pending", error: "it is stuck", delayMs: 7_000 },
  ]);
  for (const { claim } of begun.values()) expect(String(claim.signal.reason)).toContain("shutting down");
  hands.take([claimed(4)]);
  expect(begun.has("evt_4")).toBe(false);
});
