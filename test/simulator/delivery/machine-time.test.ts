import { describe, expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { waitingForTheSecondAttempt } from "../../helpers/failing-delivery.ts";
import { deliveryOf, emit, emitOne, nextEntry, openSimulator, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

const HOUR_MS = 3_600_000;

describe("a machine that sleeps for twelve hours", () => {
  test("makes each overdue attempt once, within a second of waking", async () => {
    const { endpoint, wall, simulator, id, second } = await waitingForTheSecondAttempt();
    wall.jump(12 * HOUR_MS);
    await second();
    expect(endpoint.received).toHaveLength(2);
    // The third is due 5 min after the second ended, not after it should have been made.
    const [, late] = simulator.deliveries.attempts(id);
    expect(deliveryOf(simulator, id).nextAttemptAtMs).toBe((late?.endedAtMs ?? 0) + 300_000);
    for (let count = 0; count < 5; count++) await second();
    expect(endpoint.received).toHaveLength(2);
  });

  test("makes no burst when many deliveries are overdue: never more than 16 at one endpoint", async () => {
    const endpoint = await startEndpoint(500);
    const wall = createVirtualWall();
    const simulator = openSimulator({ clock: "real", wall });
    register(simulator, endpoint.url);
    emit(simulator, "call.completed", 50);
    await simulator.settled();
    expect(endpoint.received).toHaveLength(50);

    const held: (() => void)[] = [];
    endpoint.behave((response) => held.push(() => response.writeHead(500).end()));
    wall.jump(12 * HOUR_MS);
    wall.pass(1_000);
    await endpoint.until(66);
    await loopTurns(50);
    expect(endpoint.received).toHaveLength(66);
    endpoint.behave(500);
    for (const answer of held) answer();
    await simulator.settled();
    expect(endpoint.received).toHaveLength(100);
  });
});

describe("a machine whose clock is set back", () => {
  test.each([1, 12])("by %i h waits what is left, no longer", async (hours) => {
    const { endpoint, wall, simulator, second } = await waitingForTheSecondAttempt();
    const beforeMs = simulator.clock.now();
    wall.pass(30_000);
    await simulator.settled();
    wall.jump(-hours * HOUR_MS);
    expect(simulator.clock.now()).toBe(beforeMs + 30_000);
    wall.pass(29_000);
    await simulator.settled();
    expect(endpoint.received).toHaveLength(1);
    await second();
    expect(endpoint.received).toHaveLength(2);
    // Signed with what the machine believes: a receiver on the same machine agrees.
    expect(endpoint.received[1]?.t).toBe(Math.floor(wall.nowMs() / 1000));
  });

  test("never runs schedule time backwards", async () => {
    const wall = createVirtualWall();
    const simulator = openSimulator({ clock: "real", wall });
    let lastMs = simulator.clock.now();
    for (const jumpMs of [-HOUR_MS, 5_000, -12 * HOUR_MS, 12 * HOUR_MS, -1]) {
      wall.jump(jumpMs);
      const nowMs = simulator.clock.now();
      expect(nowMs).toBeGreaterThanOrEqual(lastMs);
      lastMs = nowMs;
    }
  });
});

describe("a machine whose clock is set forward", () => {
  test.each([1, 12])("by %i h takes that time as passed", async (hours) => {
    const { endpoint, wall, second } = await waitingForTheSecondAttempt();
    wall.jump(hours * HOUR_MS);
    await second();
    expect(endpoint.received).toHaveLength(2);
  });
});

describe("the deadline of an attempt", () => {
  test("counts monotonic time: setting the clock neither ends it nor extends it", async () => {
    const wall = createVirtualWall();
    const endpoint = await startEndpoint(() => {});
    const simulator = openSimulator({ clock: "real", wall });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await endpoint.until(1);
    wall.jump(12 * HOUR_MS);
    wall.pass(9_999);
    expect(simulator.deliveries.attempts(id)[0]?.endedAtMs).toBeNull();
    const ended = nextEntry(simulator, ({ kind }) => kind === "attempt.ended");
    wall.pass(1);
    await ended;
    expect(simulator.deliveries.attempts(id)[0]).toMatchObject({ error: "timeout", durationMs: 10_000 });
  });
});
