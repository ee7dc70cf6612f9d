import { join } from "node:path";
import { expect, test } from "vitest";
import type { Outcome } from "../../../simulator/domain/outcome.ts";
import type { Observer } from "../../../simulator/observer/observer.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { ALL } from "../../helpers/run/sizes.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { emit, emitOne, openSimulator, register, temporaryDirectory } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

/** A simulator with a test network, and a receiver that reports. */
function open(options: { dataFile?: string; outcome?: Outcome } = {}) {
  const { outcome = { status: 200 }, ...more } = options;
  const wall = createVirtualWall();
  const receiver = {
    outcome,
    handled: 0,
    asked: [] as string[],
    isSilent: false,
    state: undefined as string | undefined,
    /** Its answer comes no earlier. */
    saysAfter: Promise.resolve(),
  };
  const observer: Observer = async (eventId) => {
    receiver.asked.push(eventId);
    const { isSilent, handled: count, state, saysAfter } = receiver;
    await saysAfter;
    if (isSilent) return { known: false, reason: "silent" };
    return { known: true, count, state, isIgnored: state === "ignored" };
  };
  const send = () => Promise.resolve({ outcome: receiver.outcome, durationMs: 1 });
  const simulator = openSimulator({ clock: "manual", wall, send, ...more });
  /** Lets wall time pass, and the receiver answer meanwhile. */
  async function pass(ms: number): Promise<void> {
    wall.pass(ms);
    await loopTurns(3);
  }
  return { simulator, receiver, observer, pass };
}

/** The same, which has sent one event to an observed endpoint. */
async function emitted(options: Parameters<typeof open>[0] = {}) {
  const opened = open(options);
  register(opened.simulator, "http://localhost:1/never-asked");
  opened.simulator.verdicts.observe(opened.observer);
  const id = emitOne(opened.simulator);
  await opened.simulator.settled();
  return { ...opened, id };
}

function verdictOf(simulator: Simulator, id: string): string | undefined {
  return simulator.deliveries.summary(id)?.verdict.sentence;
}

test("an event is checked until it is handled, and once more later", async () => {
  const { simulator, receiver, pass, id } = await emitted();
  expect(verdictOf(simulator, id)).toBe("Acknowledged");
  await pass(60);
  expect(verdictOf(simulator, id)).toBe("Acknowledged, not handled yet");
  receiver.handled = 1;
  await pass(240);
  expect(verdictOf(simulator, id)).toBe("Acknowledged, handled once");
  receiver.handled = 2;
  await pass(700);
  expect(verdictOf(simulator, id)).toBe("Handled twice");
  await pass(2_000);
  const { length } = receiver.asked;
  expect(length).toBe(4);
  await pass(60_000);
  expect(receiver.asked).toHaveLength(length);
});

test("an event not handled within 20 s counts as never handled", async () => {
  const { simulator, pass, id } = await emitted();
  for (const ms of [60, 240, 700, 2_000, 5_000]) await pass(ms);
  expect(verdictOf(simulator, id)).toBe("Acknowledged, not handled yet");
  await pass(12_000);
  expect(verdictOf(simulator, id)).toBe("Acknowledged, but never handled");
});

test.each([
  ["dead", "Acknowledged, but never handled"],
  ["ignored", "Acknowledged and ignored"],
])("an event that a receiver reports as %s is not checked again", async (state, sentence) => {
  const { simulator, receiver, pass, id } = await emitted();
  receiver.state = state;
  await pass(60);
  expect(verdictOf(simulator, id)).toBe(sentence);
  await pass(60_000);
  expect(receiver.asked).toHaveLength(1);
});

test("without a report, a receiver is judged by its answers", async () => {
  const { simulator, receiver, pass, id } = await emitted();
  receiver.isSilent = true;
  for (const ms of [60, 240, 700, 2_000, 5_000, 12_000]) await pass(ms);
  expect(receiver.asked).toHaveLength(6);
  expect(verdictOf(simulator, id)).toBe("Acknowledged");
});

test("a report judges only its own endpoint, and only events that arrived", async () => {
  const { simulator, receiver, observer, pass } = open();
  register(simulator, "http://localhost:1/other");
  const endpoint = register(simulator, "http://localhost:1/observed");
  simulator.verdicts.observe(observer, endpoint.id);
  const result = simulator.events.emit({ type: "call.completed" });
  if (!result.ok) throw new Error(result.message);
  await simulator.settled();
  receiver.handled = 1;
  await pass(60);
  const verdicts = result.emitted[0]?.deliveries.map(({ id, endpointId }) => [
    endpointId === endpoint.id,
    verdictOf(simulator, id),
  ]);
  expect(verdicts).toEqual([
    [false, "Acknowledged"],
    [true, "Acknowledged, handled once"],
  ]);

  const away = open({ outcome: { error: "refused" } });
  register(away.simulator, "http://localhost:1/away");
  away.simulator.verdicts.observe(away.observer);
  emitOne(away.simulator);
  await away.simulator.settled();
  await away.pass(60_000);
  expect(away.receiver.asked).toEqual([]);
});

test.each([
  ["dns", 0],
  ["refused", 0],
  ["reset", 1],
  ["closed", 1],
  ["timeout", 1],
  ["protocol", 1],
] as const)("after an attempt that ended with %s the receiver is asked %i times", async (error, times) => {
  const { receiver, pass } = await emitted({ outcome: { error } });
  await pass(60);
  expect(receiver.asked).toHaveLength(times);
});

test("a verdict changed by a report is counted anew, even with attempts left", async () => {
  const { simulator, receiver, observer, pass } = open({ outcome: { status: 401 } });
  register(simulator, "http://localhost:1/never-asked", { faults: [{ name: "bad-signature" }] });
  simulator.verdicts.observe(observer);
  emitOne(simulator);
  await simulator.settled();
  expect(simulator.verdicts.counts()).toMatchObject([{ meant: "forged", result: "ok", count: 1 }]);
  receiver.handled = 1;
  await pass(60);
  expect(simulator.verdicts.counts()).toMatchObject([{ meant: "forged", result: "not", count: 1 }]);
});

test("the last report on one attempt does not end the questions about the next", async () => {
  const { simulator, receiver, pass, id } = await emitted({ outcome: { status: 500 } });
  for (const ms of [60, 240, 700, 2_000, 5_000]) await pass(ms);
  const said = Promise.withResolvers<void>();
  receiver.saysAfter = said.promise;
  await pass(12_000);
  receiver.outcome = { status: 200 };
  await simulator.clock.advance(60);
  said.resolve();
  await pass(0);
  receiver.saysAfter = Promise.resolve();
  receiver.handled = 1;
  await pass(60);
  expect(verdictOf(simulator, id)).toBe("Acknowledged at attempt 2, handled once");
});

test.runIf(ALL)("a limited number of events is observed at a time, and handled ones make room", async () => {
  const { simulator, receiver, observer, pass } = open();
  register(simulator, "http://localhost:1/never-asked");
  simulator.verdicts.observe(observer);
  receiver.handled = 1;
  // One more than are observed at a time.
  emit(simulator, "call.completed", 2_001);
  await simulator.settled();
  for (const ms of [60, 240, 700, 2_000]) {
    await pass(ms);
    for (let turn = 0; turn < 5_000 && receiver.asked.length % 2_000 > 0; turn++) await loopTurns(1);
  }
  expect(receiver.asked).toHaveLength(4 * 2_000);
  const id = emitOne(simulator);
  await simulator.settled();
  await pass(60);
  expect(verdictOf(simulator, id)).toBe("Acknowledged, handled once");
});

test("after a reset or close, no more requests are made", async () => {
  const { simulator, receiver, pass } = await emitted();
  await simulator.reset({ endpoints: true });
  await pass(60_000);
  expect(receiver.asked).toEqual([]);
  expect(simulator.verdicts.counts()).toEqual([]);
});

test("a new observer replaces the old one, whose questions are abandoned", async () => {
  const { simulator, receiver, observer, pass } = open();
  register(simulator, "http://localhost:1/never-asked");
  const given: (AbortSignal | undefined)[] = [];
  simulator.verdicts.observe((_id, signal) => {
    given.push(signal);
    return new Promise(() => {});
  });
  emitOne(simulator);
  await simulator.settled();
  await pass(60);
  expect(given.map((signal) => signal?.aborted)).toEqual([false]);
  simulator.verdicts.observe(observer);
  emitOne(simulator);
  await simulator.settled();
  await pass(60);
  expect(given.map((signal) => signal?.aborted)).toEqual([true]);
  expect(receiver.asked).toHaveLength(1);
});

test("verdicts are counted, streamed, searchable, and kept through a restart", async () => {
  const dataFile = join(temporaryDirectory(), "simulator.db");
  const { simulator, receiver, observer, pass } = open({ dataFile });
  const endpoint = register(simulator, "http://localhost:1/never-asked");
  simulator.verdicts.observe(observer);
  const first = emitOne(simulator);
  const second = emitOne(simulator);
  await simulator.settled();
  const noticed: string[] = [];
  simulator.journal.watch((entry) => {
    if (entry.kind === "delivery.changed") noticed.push(entry.deliveryId);
  });
  receiver.handled = 2;
  await pass(60);
  expect(noticed).toEqual([first, second]);
  const resent = simulator.deliveries.resend(first);
  if (!resent.ok) throw new Error(resent.message);
  await simulator.settled();
  const counts = [
    { endpointId: endpoint.id, meant: "duplicate", result: "not", count: 1 },
    { endpointId: endpoint.id, meant: "honest", result: "not", count: 2 },
  ];
  expect(simulator.verdicts.counts()).toEqual(counts);
  const search = { limit: 10, verdict: "not" } as const;
  const found = [resent.id, second, first];
  expect(simulator.deliveries.page(search).deliveries.map(({ id }) => id)).toEqual(found);
  expect(simulator.deliveries.page({ limit: 10, verdict: "ok" }).deliveries).toEqual([]);
  await simulator.close();

  const again = open({ dataFile });
  expect(again.simulator.verdicts.counts()).toEqual(counts);
  expect(again.simulator.deliveries.page(search).deliveries.map(({ id }) => id)).toEqual(found);
  expect(verdictOf(again.simulator, resent.id)).toBe("Duplicate, handled twice");
});
