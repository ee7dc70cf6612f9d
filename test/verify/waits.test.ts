import { expect, onTestFinished, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import { createContext } from "../../simulator/verify/context.ts";
import type { Exchange } from "../../simulator/verify/delivery.ts";
import { evidenceOf } from "../../simulator/verify/evidence.ts";
import { handledTimes, whenSettled } from "../../simulator/verify/judge.ts";
import { createKillRounds } from "../../simulator/verify/kill-rounds.ts";
import { createLedger } from "../../simulator/verify/ledger.ts";
import { createReceiverClock } from "../../simulator/verify/receiver-clock.ts";
import { RULES } from "../../simulator/verify/rules.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { DEFAULT_TIMING, type Timing } from "../../simulator/verify/timing.ts";
import { QUICK } from "../mutants/judge.ts";
import { SECRET, startMutant } from "../mutants/receiver.ts";
import { createSilentWire } from "./sent-in-words.ts";

/** A context over a receiver, which nobody asks unless another `url` is given. */
function contextOf(
  timing: Partial<Timing>,
  more: Partial<Parameters<typeof createContext>[0]> = {},
): CheckContext {
  const context: CheckContext = createContext({
    url: "http://127.0.0.1:1/",
    secret: SECRET,
    seed: "1",
    checkId: "crash.terminated",
    events: EVENT_TYPES,
    timing: { ...DEFAULT_TIMING, ...timing },
    answerTimeoutMs: () => 1_000,
    ledger: createLedger({ nowMs: Date.now }),
    clock: createReceiverClock({ local: true, now: Date.now }),
    kills: createKillRounds(() => context),
    now: Date.now,
    ...more,
  });
  return context;
}

const answered = (status: number): Exchange["outcome"] => {
  return { kind: "answered", status, headers: [], body: Buffer.alloc(0), complete: true };
};

test("after a restart the receiver is left alone for a while, so that a second handling is seen", async () => {
  const restMs = 120;
  const context = contextOf({ restMs, promptMs: 1 });
  const startedAt = performance.now();
  const round = await createKillRounds(() => ({
    ...context,
    handledNow: async () => ({ known: true, count: 1 }),
  })).terminated();
  expect(round.exchanges).toHaveLength(1);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(restMs - 5);
});

test("all kills together are those before and some more: what was acknowledged, and the closest of them", async () => {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  for (const more of [0, 2]) {
    const timing = { ...QUICK, restMs: 1, kills: more, burst: 9 };
    const context = contextOf(timing, {
      url: receiver.url,
      seed: `kills ${more}`,
      checkId: "crash.kills",
      answerTimeoutMs: () => 10_000,
      observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
    });
    const { kills } = context;
    const all = await kills.streamed();
    // Each is played once, whoever asks first.
    const [first, second] = [await kills.acknowledged(), await kills.burst()];
    expect(all.kills).toBe(2 + more);
    const closest = Math.min(first.closestMs, second.closestMs);
    expect(more === 0 ? all.closestMs : Math.min(all.closestMs, closest)).toBe(
      more === 0 ? closest : all.closestMs,
    );
    const ids = all.exchanges.map(({ eventId }) => eventId);
    expect(ids).toEqual(
      expect.arrayContaining([...first.last, ...second.answered].map(({ eventId }) => eventId)),
    );
    expect(all.exchanges.every(({ outcome }) => outcome.kind === "answered" && outcome.status === 200)).toBe(
      true,
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(second.exchanges).toHaveLength(9);
    for (const twice of [first.duplicate, first.handled])
      expect([twice.length, new Set(twice.map(({ eventId }) => eventId)).size]).toEqual([2, 1]);
  }
});

test("a receiver that answers 503 while it boots is waited for, before what was lost is sent again", async () => {
  const context = contextOf({ restMs: 1, promptMs: 1, burst: 4, readyMs: 10_000 });
  let [opened, delivered] = [0, 0];
  const round = await createKillRounds(() => ({
    ...context,
    handledNow: async () => ({ known: true, count: 1 }),
    open: async () => {
      opened += 1;
      const cut: Exchange["outcome"] = { kind: "no_answer", error: "reset", message: "It was killed." };
      return { ...createSilentWire().wire, answer: async () => (opened > 2 ? cut : answered(200)) };
    },
    deliver: async (what) => {
      delivered += 1;
      const eventId = "id" in what ? what.id : "";
      const outcome = answered(delivered <= 2 ? 503 : 200);
      return { eventId, request: context.compose(what).request, outcome, durationMs: 1 };
    },
  })).burst();
  const statuses = round.exchanges.map(({ outcome }) => outcome.kind === "answered" && outcome.status);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect(delivered).toBeGreaterThan(3);
});

/** Much longer than the wait that is too short, so that a pause of this process makes no difference. */
const LATE_MS = 2_500;

test.each<[Check["phase"], string, "passed" | "failed"]>([
  ["crash", "", "passed"],
  ["crash", " in a run that has lost an event before", "failed"],
  ["alone", "", "failed"],
])("what takes longer to be handled after a %s check%s has %s", async (phase, before, outcome) => {
  const receiver = await startMutant({}, Date.now);
  onTestFinished(() => receiver.close());
  let lateId = "";
  let handledAt = Number.POSITIVE_INFINITY;
  const check: Check = {
    id: `${phase === "crash" ? "crash" : "effects"}.late`,
    title: "handles late",
    level: "must",
    group: phase === "crash" ? "crash" : "effects",
    spec: RULES.once,
    hint: "",
    phase: phase ?? "together",
    run: async ({ deliver, event }) => {
      const exchange = await deliver(event("order.created"));
      lateId = exchange.eventId;
      handledAt = performance.now() + LATE_MS;
      return whenSettled((handled) => handledTimes(handled, [exchange], { least: 1, most: 1 }));
    },
  };
  const lost: Check = {
    ...check,
    id: "effects.lost",
    group: "effects",
    phase: "alone",
    run: async ({ deliver, event }) => {
      const exchange = await deliver(event("order.created"));
      return whenSettled((handled) => handledTimes(handled, [exchange], { least: 2, most: 2 }));
    },
  };
  const { results } = await runChecks({
    url: receiver.url,
    secret: SECRET,
    seed: "late",
    checks: before === "" ? [check] : [lost, check],
    observe: async (eventId) => ({
      known: true,
      count: eventId === lateId && performance.now() < handledAt ? 0 : receiver.handled(eventId),
    }),
    timing: { settleMs: 50, settleAfterCrashMs: 10 * LATE_MS, quietMs: 1 },
    now: Date.now,
  });
  expect(results.find(({ check: { id } }) => id === check.id)?.outcome).toBe(outcome);
});

test.each([
  [0, ""],
  [600, ""],
  [601, "… (1 characters more)"],
  [1_000, "… (400 characters more)"],
])(
  "of a text of %i characters the evidence shows 600, and says how many more there are: %j",
  (length, more) => {
    const body = Buffer.from("é".repeat(length));
    const { request } = contextOf({}).compose(body);
    const outcome: Exchange["outcome"] = { kind: "answered", status: 200, headers: [], body, complete: true };
    const { sent, received, durationMs } = evidenceOf({ eventId: "", request, outcome, durationMs: 12.6 });
    const shown = "é".repeat(Math.min(600, length)) + more;
    expect([sent.body, received, durationMs]).toEqual([shown, { status: 200, headers: [], body: shown }, 13]);
  },
);

test("the evidence says how it was sent, what came back, and where, without what is secret in the address", () => {
  const { request } = contextOf({}).compose(Buffer.from("{}"));
  const outcome: Exchange["outcome"] = {
    kind: "no_answer",
    error: "reset",
    message: "It cut the connection.",
  };
  const url = "http://name:password@127.0.0.1:3000/hooks?a=b";
  const exchange = { eventId: "", request: { ...request, url, note: "One of ten." }, outcome, durationMs: 1 };
  expect(evidenceOf(exchange)).toEqual({
    sent: {
      method: "POST",
      url: "http://127.0.0.1:3000/hooks?a=b",
      headers: request.headers,
      body: "{}",
      note: "One of ten.",
    },
    received: { error: "reset", message: "It cut the connection." },
    durationMs: 1,
    // What went on beside it, one request alone does not repeat.
    curl: undefined,
  });
});

test.each([
  [0.4, "passed"],
  [0.5, "passed"],
  [0.6, "failed"],
])("under load an answer may take half of the limit: %f of it has %s", async (share, outcome) => {
  const context = contextOf({ burst: 3 });
  const { responseTimeoutMs } = context.timing;
  const check = CATALOGUE.find(({ id }) => id === "load.prompt");
  const verdict = await check?.run({
    ...context,
    deliver: async (what) => {
      const [eventId, { request }] = ["id" in what ? what.id : "", context.compose(what)];
      return { eventId, request, outcome: answered(200), durationMs: responseTimeoutMs * share };
    },
  });
  expect(verdict).toMatchObject({ outcome });
});
