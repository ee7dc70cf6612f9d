import { join } from "node:path";
import { expect, test } from "vitest";
import type { Delivery } from "../../../simulator/domain/deliveries.ts";
import type { Send } from "../../../simulator/domain/flights.ts";
import { systemTime } from "../../../simulator/domain/wall-time.ts";
import { parseScenario } from "../../../simulator/domain/world/scenario.ts";
import { allDeliveries, allEvents, openAttempts } from "../../helpers/records.ts";
import {
  deliveryOf,
  emit,
  emitOne,
  fileAfterKill,
  nextEntry,
  openSimulator,
  readingsWith,
  register,
  temporaryDirectory,
  resendAll,
} from "../../helpers/simulator.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

const FAILS = async () => ({ outcome: { status: 500 }, durationMs: 1 });
const SUCCEEDS = async () => ({ outcome: { status: 200 }, durationMs: 1 });

test("an event is sent at once, not at the next poll", async () => {
  const sent = Promise.withResolvers<string>();
  const wall = createVirtualWall();
  const simulator = openSimulator({
    wall,
    send: async ({ url }) => {
      sent.resolve(url);
      return SUCCEEDS();
    },
  });
  register(simulator, "http://localhost:9/");
  await loopTurns(5);
  emitOne(simulator);
  expect(await sent.promise).toBe("http://localhost:9/");
});

test("of several deliveries that wait for one endpoint, the clock moves to the first", async () => {
  const simulator = openSimulator({ clock: "manual", send: FAILS });
  register(simulator, "http://localhost:9/");
  const first = emitOne(simulator);
  await simulator.clock.advance(30);
  const second = emitOne(simulator);
  await simulator.settled();
  await simulator.clock.next();
  expect(simulator.deliveries.attempts(first)).toHaveLength(2);
  expect(simulator.deliveries.attempts(second)).toHaveLength(1);
});

test("overdue attempts at a busy endpoint are sent in the order of their due times, which never change", async () => {
  const wall = createVirtualWall();
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const send: Send = ({ body }) => {
    sent.push((JSON.parse(body.toString()) as { type: string }).type);
    return new Promise((resolve) => answers.push(() => resolve({ outcome: { status: 200 }, durationMs: 1 })));
  };
  const simulator = openSimulator({ clock: "real", concurrency: 1, wall, send });
  register(simulator, "http://localhost:9/");
  emitOne(simulator, "order.created");
  await loopTurns(5);
  simulator.events.emit({ type: "voicemail.created", faults: [{ name: "delay" }] });
  const [{ id, createdAtMs }] = allDeliveries(simulator) as [Delivery];
  wall.pass(10_000);
  emitOne(simulator, "call.completed");
  wall.pass(60_000);
  expect(simulator.deliveries.attemptNow(id).ok).toBe(true);
  for (const count of [1, 2, 3]) {
    await expect.poll(() => answers.length, { timeout: 5_000 }).toBe(count);
    answers.at(-1)?.();
  }
  expect(sent).toEqual(["order.created", "call.completed", "voicemail.created"]);
  expect(simulator.deliveries.attempts(id)[0]?.scheduledAtMs).toBe(createdAtMs + 30_000);
});

test.each([
  ["16 as it comes", {}, 16],
  ["as many as concurrency says", { concurrency: 3 }, 3],
  ["one, where deliveries_at_once is one", { readings: readingsWith({ deliveries_at_once: "one" }) }, 1],
] as const)("of forty deliveries to one endpoint, so many are under way: %s", async (_, options, most) => {
  const answers: (() => void)[] = [];
  let atOnce = 0;
  const simulator = openSimulator({
    clock: "manual",
    ...options,
    send: () =>
      new Promise((resolve) => {
        answers.push(() => resolve({ outcome: { status: 200 }, durationMs: 1 }));
        atOnce = Math.max(atOnce, answers.length);
        // After all possible attempts have started.
        if (answers.length === 1) void loopTurns(20).then(answerAll);
      }),
  });
  function answerAll(): void {
    for (const answer of answers.splice(0)) answer();
  }
  register(simulator, "http://localhost:9/");
  emit(simulator, "call.completed", 40);
  await simulator.settled();
  expect(atOnce).toBe(most);
  expect(simulator.counts.deliveries().byState.delivered).toBe(40);
});

test("all attempts that end in one turn of the loop are recorded", async () => {
  // No timer fires: an attempt that needs one waits forever.
  const simulator = openSimulator({ clock: "manual", wall: createVirtualWall(), send: SUCCEEDS });
  for (let count = 0; count < 4; count++) register(simulator, `http://localhost:1/${count}`);
  emit(simulator, "call.completed", 5);
  await simulator.settled();
  expect(simulator.counts.deliveries().byState).toEqual({ attempting: 0, delivered: 20, dead: 0 });
});

test("a dead delivery is resent once, and then only when the new one is dead, too", async () => {
  const simulator = openSimulator({ clock: "skip", send: FAILS });
  register(simulator, "http://localhost:9/");
  emit(simulator, "call.completed", 2);
  expect((await resendAll(simulator)).sent).toBe(0);
  await simulator.settled();
  expect((await resendAll(simulator)).sent).toBe(2);
  expect((await resendAll(simulator)).sent).toBe(0);
  await simulator.settled();
  expect((await resendAll(simulator)).sent).toBe(2);
});

test("an open attempt does not count as an answer", async () => {
  const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const simulator = openSimulator({
    clock: "skip",
    send: async () => {
      begun.resolve();
      await answer.promise;
      return SUCCEEDS();
    },
  });
  const { id: endpointId } = register(simulator, "http://localhost:9/");
  emit(simulator);
  await begun.promise;
  expect(openAttempts(simulator)).toHaveLength(1);
  expect(simulator.deliveries.answersOf(endpointId).attempts).toEqual([]);
  answer.resolve();
  await simulator.settled();
  expect(simulator.deliveries.answersOf(endpointId).attempts).toHaveLength(1);
});

test("an attempt ends when its outcome is known, not when its answer is complete", async () => {
  const wall = createVirtualWall();
  const send = async () => {
    wall.pass(5_000);
    return { outcome: { status: 500 }, durationMs: 1_200 };
  };
  const simulator = openSimulator({ clock: "real", wall, send });
  register(simulator, "http://localhost:9/");
  const ended = nextEntry(simulator, ({ kind }) => kind === "attempt.ended");
  const id = emitOne(simulator);
  await ended;
  const [attempt] = simulator.deliveries.attempts(id);
  expect(attempt).toMatchObject({ durationMs: 1_200, endedAtMs: (attempt?.startedAtMs ?? 0) + 1_200 });
  expect(deliveryOf(simulator, id).nextAttemptAtMs).toBe((attempt?.startedAtMs ?? 0) + 61_200);
});

test("even on a slow machine a page from an index has the requested length", async () => {
  let stepMs = 0;
  let nowMs = 0;
  const wall = { ...systemTime, monotonicMs: () => (nowMs += stepMs) };
  const simulator = openSimulator({ clock: "manual", send: FAILS, wall });
  const { id: endpointId } = register(simulator, "http://localhost:9/");
  for (let sent = 0; sent < 4; sent += 1) emit(simulator, "order.created");
  await simulator.settled();
  stepMs = 1_000;
  expect(simulator.deliveries.answersOf(endpointId).attempts).toHaveLength(4);
  const both = { limit: 3, endpointId, type: "order.created" } as const;
  for (const one of [{}, { endpointId }, { state: "attempting" }, { type: "order.created" }] as const)
    expect(simulator.deliveries.page({ limit: 3, ...one }), JSON.stringify(one)).toMatchObject({
      deliveries: { length: 3 },
    });
  expect(simulator.deliveries.page(both)).toMatchObject({ deliveries: { length: 1 } });
  expect(simulator.events.page({ limit: 3, type: "order.created" })).toMatchObject({ events: { length: 3 } });
  const [{ orgId } = { orgId: "" }] = simulator.events.page({ limit: 1 }).events;
  expect(simulator.events.page({ limit: 3, orgId })).toMatchObject({ events: { length: 1 } });
});

test("a watcher that has missed nothing continues", () => {
  const { journal, ...simulator } = openSimulator();
  simulator.clock.setMode("manual");
  expect(journal.since(journal.lastId())).toEqual([]);
  expect(journal.since(journal.lastId() - 1)).toHaveLength(1);
  expect(journal.since(journal.lastId() + 1)).toBeUndefined();
});

test("numbers of the stream go on after a kill, though no time has passed", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  const first = openSimulator({ dataFile, wall: createVirtualWall(), clock: "manual", send: SUCCEEDS });
  register(first, "http://localhost:9/");
  emit(first);
  await first.settled();
  const next = openSimulator({ dataFile: fileAfterKill(dataFile, "killed"), wall: createVirtualWall() });
  expect(next.journal.lastId()).toBeGreaterThanOrEqual(first.journal.lastId());
});

test("with an id for each endpoint, the first has the event's own", async () => {
  const readings = readingsWith({ event_id_across_endpoints: "distinct" });
  const simulator = openSimulator({ clock: "manual", readings, send: SUCCEEDS });
  for (const path of ["a", "b"]) register(simulator, `http://localhost:9/${path}`);
  const bodies = emit(simulator).map((id) => deliveryOf(simulator, id).body);
  expect(bodies).toEqual([null, expect.any(Buffer)]);
});

test("overdue steps of scenarios run in the order of their times, whichever scenario started first", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  const scenarios = [
    ["late", { after_seconds: 60, type: "voicemail.created" }] as const,
    ["early", { after_seconds: 30, type: "call.transferred" }] as const,
  ].map(([name, step]) => {
    const parsed = parseScenario({ name, summary: "One step.", steps: [step] });
    if (!parsed.ok) throw new Error(parsed.message);
    return parsed.scenario;
  });
  const first = openSimulator({ dataFile, wall: createVirtualWall(), scenarios });
  for (const name of ["late", "early"]) expect(first.scenarios.begin(name).ok).toBe(true);
  await first.close();
  const later = createVirtualWall();
  later.pass(600_000);
  const next = openSimulator({ dataFile, wall: later });
  await next.settled();
  const types = allEvents(next).map(({ type }) => type);
  expect(types.filter((type) => type !== "call.completed")).toEqual([
    "voicemail.created",
    "call.transferred",
  ]);
});
