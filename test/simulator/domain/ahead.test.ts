import { describe, expect, onTestFinished, test } from "vitest";
import { RETRY_DELAYS_SECONDS } from "../../../simulator/domain/retry-policy.ts";
import { openDatabase } from "../../../simulator/files/database.ts";
import { createAhead } from "../../../simulator/domain/ahead.ts";
import { answering, emit, emitOne, openSimulator, register } from "../../helpers/simulator.ts";

const SCHEDULE_SECONDS = RETRY_DELAYS_SECONDS.reduce<number>((sum, seconds) => sum + seconds, 0);

function openFailing() {
  const simulator = openSimulator({ clock: "manual", send: answering(500) });
  register(simulator, "http://localhost:1/hook");
  return simulator;
}

describe("the list of upcoming attempts", () => {
  test("is empty if nothing waits", () => {
    expect(openFailing().clock.ahead(SCHEDULE_SECONDS)).toEqual({ due: [], hasMore: false });
  });

  test("has each next attempt with its number and due time; those of the same moment are one entry", async () => {
    const simulator = openFailing();
    const [first] = emit(simulator, "voicemail.created", 3);
    await simulator.settled();
    const nowMs = simulator.clock.now();
    const group = { kind: "attempt", count: 3, eventType: "voicemail.created", deliveryId: first };
    expect(simulator.clock.ahead(SCHEDULE_SECONDS).due).toEqual([
      { ...group, dueAtMs: nowMs + 60_000, attempt: 2 },
    ]);

    await simulator.clock.advance(60);
    const later = simulator.clock.now();
    expect(simulator.clock.ahead(SCHEDULE_SECONDS).due).toEqual([
      { ...group, dueAtMs: later + 300_000, attempt: 3 },
    ]);
  });

  test("is grouped by seconds when near, and by minutes when far", async () => {
    const simulator = openFailing();
    for (let count = 0; count < 3; count++) {
      emitOne(simulator);
      await simulator.clock.advance(2);
    }
    expect(simulator.clock.ahead(SCHEDULE_SECONDS).due.map(({ count }) => count)).toEqual([1, 1, 1]);
    await simulator.clock.advance(5 * 60 + 60);
    await simulator.clock.advance(30 * 60);
    await simulator.clock.advance(2 * 3_600);
    expect(simulator.clock.ahead(SCHEDULE_SECONDS).due).toMatchObject([{ count: 3, attempt: 6 }]);
  });

  test("ends at the given time, inclusive", async () => {
    const simulator = openFailing();
    emitOne(simulator);
    await simulator.settled();
    expect(simulator.clock.ahead(59.999).due).toHaveLength(0);
    expect(simulator.clock.ahead(60).due).toHaveLength(1);
  });

  test("has the steps of a scenario, by their type, among the attempts", async () => {
    const simulator = openFailing();
    emitOne(simulator);
    await simulator.settled();
    const nowMs = simulator.clock.now();
    const started = simulator.scenarios.begin("busy-friday");
    if (!started.ok) throw new Error(started.message);
    const { due } = simulator.clock.ahead(SCHEDULE_SECONDS);
    const steps = due.filter(({ kind }) => kind === "step");
    expect(steps.reduce((sum, { count }) => sum + count, 0)).toBe(started.begun.steps);
    expect(steps[0]).toMatchObject({ dueAtMs: nowMs, kind: "step" });
    const times = due.map(({ dueAtMs }) => dueAtMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(due.findIndex(({ kind }) => kind === "attempt")).toBeGreaterThan(0);
    expect(new Set(steps.map(({ eventType }) => eventType))).toContain("order.created");
  });
});

test("reports if there are more attempts or steps", () => {
  const opened = openDatabase();
  if (!opened.ok) throw new Error(opened.message);
  const { database } = opened;
  onTestFinished(() => void database.close());
  const ahead = createAhead({ database });
  const look = () => ahead({ nowMs: 0, untilMs: 10_000_000 });
  const add = (count: number): void =>
    void database
      .prepare(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO steps (due_at, step) SELECT i, '{"type":"order.created"}' FROM n`,
      )
      .run(count);
  add(19_999);
  expect(look()).toMatchObject({ hasMore: false });
  add(1);
  expect(look()).toMatchObject({ hasMore: true });
  expect(look().due.reduce((sum, { count }) => sum + count, 0)).toBe(20_000);
});
