import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { sampleEnvelope } from "../../shared/samples.ts";
import { ANSWER_LOST, attempts, attemptsAfter, sixInARow } from "../../simulator/verify/attempts.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Verdict } from "../../simulator/verify/check.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { createLedger } from "../../simulator/verify/ledger.ts";
import { createPatience } from "../../simulator/verify/patience.ts";
import { createReceiverClock } from "../../simulator/verify/receiver-clock.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import type { Outcome } from "../../simulator/verify/wire.ts";
import { DEFAULT_TIMING } from "../../simulator/verify/timing.ts";
import { CORRECT, SECRET, startMutant } from "../mutants/receiver.ts";

const ENVELOPE = sampleEnvelope("call.completed");

const FROM_NOWHERE: Exchange = {
  eventId: ENVELOPE.id,
  request: {
    url: "http://127.0.0.1:1/",
    headers: [],
    body: Buffer.alloc(0),
    signature: { headerName: "X", recipe: { t: [], headers: [] } },
    httpVersion: "1.1",
  },
  outcome: { kind: "no_answer", error: "timeout", message: "" },
  durationMs: 10_000,
};

/** Never answers in time; tells how many deliveries were under way at most, and how many there were. */
function deaf() {
  const told = { count: 0, atOnce: 0 };
  let underWay = 0;
  return {
    told,
    timing: { ...DEFAULT_TIMING, retryMs: 0 },
    answerTimeoutMs: () => DEFAULT_TIMING.responseTimeoutMs,
    deliver: async (): Promise<Exchange> => {
      told.count += 1;
      underWay += 1;
      told.atOnce = Math.max(told.atOnce, underWay);
      await sleep(1);
      underWay -= 1;
      return FROM_NOWHERE;
    },
  };
}

test("what waits for the same time-out waits side by side: of six attempts, five", async () => {
  const receiver = deaf();
  expect(await attempts(receiver, ENVELOPE)).toHaveLength(6);
  expect(receiver.told).toEqual({ count: 6, atOnce: 5 });
});

test("where it is known that answers come too late, one that does is not waited for again", async () => {
  const receiver = deaf();
  const hurried = {
    ...receiver,
    timing: { ...receiver.timing, underWayMs: 0 },
    answerTimeoutMs: () => 2_000,
  };
  expect(await attempts(hurried, ENVELOPE)).toHaveLength(1);
  // The one whose answer is lost, and one more.
  expect(await attemptsAfter(hurried, ENVELOPE, ANSWER_LOST)).toHaveLength(2);
});

test("of six copies in a row each is signed a second later than the one before", async () => {
  const ages: (number | undefined)[] = [];
  const refused: Exchange = {
    ...(await deaf().deliver()),
    outcome: { kind: "no_answer", error: "reset", message: "" },
  };
  await sixInARow({ deliver: async (_what, options) => (ages.push(options?.ageSeconds), refused) }, ENVELOPE);
  expect(ages).toEqual([5, 4, 3, 2, 1, 0]);
});

test("after a lost answer the last attempt waits until that answer would have come, from its beginning on", async () => {
  const refused: Exchange = {
    ...(await deaf().deliver()),
    outcome: { kind: "no_answer", error: "reset", message: "" },
  };
  const startedAt = performance.now();
  const atMs: number[] = [];
  const deliver = async (): Promise<Exchange> => {
    atMs.push(performance.now() - startedAt);
    return refused;
  };
  const timing = { ...DEFAULT_TIMING, retryMs: 0, underWayMs: 150 };
  await attemptsAfter({ deliver, timing, answerTimeoutMs: () => 10_000 }, ENVELOPE, ANSWER_LOST);
  expect(atMs).toHaveLength(8);
  // Timers of Node.js may be a millisecond or two early.
  expect(atMs.at(-1)).toBeGreaterThanOrEqual(145);
});

test("of six copies in a row, none is sent after one that had no answer in time", async () => {
  const receiver = deaf();
  await sixInARow(receiver, ENVELOPE);
  expect(receiver.told.count).toBe(1);
});

test("a clock that is read through slow answers is not asked forty times", async () => {
  const clock = createReceiverClock({ local: false, now: Date.now });
  let samples = 0;
  const offset = await clock.measure(async () => {
    samples += 1;
    const sentAtMs = Date.now() - 2_000;
    const headers: [string, string][] = [["date", new Date().toUTCString()]];
    const { request } = await deaf().deliver();
    const outcome = {
      kind: "answered",
      status: 200,
      headers,
      body: Buffer.alloc(0),
      complete: true,
    } as const;
    clock.learn({ eventId: "", request, outcome, durationMs: 2_000 }, sentAtMs);
    await sleep(600);
  });
  expect(samples).toBe(3);
  expect(offset).toBeDefined();
});

test("of a receiver that is slow on copies, one check waits, and the others say that nobody waited again", async () => {
  const isFresh = async (...given: Parameters<typeof CORRECT.remember>) => {
    const fresh = await CORRECT.remember(...given);
    if (!fresh) await sleep(3_000);
    return fresh;
  };
  const receiver = await startMutant({ remember: isFresh }, Date.now);
  const named = ["duplicates.in-sequence", "duplicates.after-lost-answer"];
  const report = await runChecks({
    url: receiver.url,
    secret: SECRET,
    seed: "patience",
    checks: CATALOGUE.filter(({ id }) => named.includes(id)),
    timing: { responseTimeoutMs: 1_500, hurriedTimeoutMs: 100 },
    now: Date.now,
  });
  await receiver.close();
  expect(report.verdict).toBe("failed");
  const found = report.results.map(({ check, outcome, explanation }) => [check.id, outcome, explanation]);
  expect(found.slice(2)).toEqual([
    ["duplicates.in-sequence", "failed", expect.stringContaining("no answer within 1.5 s")],
    [
      "duplicates.after-lost-answer",
      "unverified",
      expect.stringContaining("duplicates.in-sequence has shown that the receiver answers too late"),
    ],
  ]);
});

test.each([
  ["must", 100],
  ["advice", 1_500],
] as const)(
  "after a check of the level %s that nobody answered in time, the next waits %i ms",
  async (level, waitsMs) => {
    const timing = { ...DEFAULT_TIMING, responseTimeoutMs: 1_500, hurriedTimeoutMs: 100 };
    const patience = createPatience({ timing, begunAtMs: performance.now() });
    const late = await deaf().deliver();
    const failed: Verdict = { outcome: "failed", problem: "", exchanges: [late] };
    expect(patience.answerTimeoutMs()).toBe(1_500);
    expect(patience.judge({ id: "x", level }, failed)).toBe(failed);
    expect(patience.answerTimeoutMs()).toBe(waitsMs);
  },
);

test("an event's first acknowledgement says how long answers take, no copy and no forgery", () => {
  const learned: number[] = [];
  const ledger = createLedger({ nowMs: () => 0, onFirstAnswer: (durationMs) => learned.push(durationMs) });
  const tell = (eventId: string, status: number, durationMs: number, forged = false): void => {
    const outcome: Outcome = { kind: "answered", status, headers: [], body: Buffer.alloc(0), complete: true };
    const exchange = { ...FROM_NOWHERE, eventId, outcome, durationMs };
    ledger.record({ checkId: "x", exchange, forged, connected: true });
  };
  tell("evt_1", 503, 1);
  tell("evt_1", 200, 600);
  tell("evt_1", 200, 2);
  tell("evt_2", 200, 3, true);
  tell("evt_3", 204, 700);
  expect(learned).toEqual([600, 700]);
});

test("it is the usual answer that counts, not the slowest", () => {
  const patience = createPatience({ timing: { ...DEFAULT_TIMING, slowRunMs: 0 }, begunAtMs: 0 });
  expect(patience.outOfTime()).toBeUndefined();
  for (const durationMs of [900, 4, 5, 199, 800]) patience.learn(durationMs);
  expect(patience.outOfTime()).toBeUndefined();
  for (const durationMs of [200, 201]) patience.learn(durationMs);
  expect(patience.outOfTime()).toMatch(/takes 0\.20 s for an answer/);
});

test("no more others are sent between an event and its copy than there is time for", async () => {
  const receiver = await startMutant({ beforeAnswer: () => sleep(30) }, Date.now);
  const report = await runChecks({
    url: receiver.url,
    secret: SECRET,
    seed: "patience",
    checks: CATALOGUE.filter(({ id }) => id === "effects.after-many-others"),
    observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
    timing: { manyOthers: 5_000, manyOthersMs: 100 },
    now: Date.now,
  });
  await receiver.close();
  expect(report.results.at(-1)).toMatchObject({
    outcome: "unverified",
    explanation: expect.stringMatching(/of which 4\d\d\d were left out/),
  });
});

test("a receiver that handles one event after the other is waited for as long as it moves", async () => {
  let doneAt = 0;
  const handledAfterMs = (): number => {
    doneAt = Math.max(doneAt, performance.now()) + 10;
    return doneAt - performance.now();
  };
  const receiver = await startMutant({ handledAfterMs }, Date.now);
  const report = await runChecks({
    url: receiver.url,
    secret: SECRET,
    seed: "one after the other",
    checks: CATALOGUE.filter(({ id }) => ["effects.after-many-others", "effects.lost-answer"].includes(id)),
    observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
    // All of them take it five seconds.
    timing: { manyOthers: 500, manyOthersMs: 30_000, underWayMs: 100, settleMs: 2_000 },
    now: Date.now,
  });
  await receiver.close();
  expect(report.results.map(({ check, explanation }) => [check.id, explanation])).toEqual([
    ["preflight.reachable", undefined],
    ["preflight.accepts", undefined],
    ["preflight.observable", undefined],
    ["effects.after-many-others", undefined],
    ["effects.lost-answer", undefined],
  ]);
  expect(report.verdict).toBe("passed");
});

test("with a receiver whose answers take long, nothing is begun late in the run", async () => {
  const receiver = await startMutant({ beforeAnswer: () => sleep(30) }, Date.now);
  const report = await runChecks({
    url: receiver.url,
    secret: SECRET,
    seed: "patience",
    checks: CATALOGUE.filter(({ group }) => group === "duplicates"),
    timing: { slowAnswerMs: 20, slowRunMs: 0 },
    now: Date.now,
  });
  await receiver.close();
  const [, , ...others] = report.results;
  expect(new Set(others.map(({ outcome }) => outcome))).toEqual(new Set(["unverified"]));
  expect(others[0]?.explanation).toContain("run it by --only, or all with --thorough");
});
