import { describe, expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { DELAYS_SECONDS, startFailing, waitingForTheSecondAttempt } from "../../helpers/failing-delivery.ts";
import {
  answering,
  deliveryOf,
  emitOne,
  gapsSeconds,
  nextEntry,
  openSimulator,
  register,
} from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

describe("moving the clock", () => {
  test("by a change of mode takes effect at once, not at the next poll", async () => {
    // Its timers never fire: only a change wakes the simulator.
    const { simulator, id } = await waitingForTheSecondAttempt();
    const dead = nextEntry(
      simulator,
      (entry) => entry.kind === "attempt.ended" && entry.number === 6 && entry.deliveryId === id,
    );
    simulator.clock.setMode("skip");
    await dead;
    expect(deliveryOf(simulator, id)).toMatchObject({ attemptsMade: 6 });
  });

  test("twice at once moves it twice, and each call resolves when its own moment has come", async () => {
    const simulator = openSimulator({ clock: "manual" });
    const fromMs = simulator.clock.now();
    const passed: [string, number][] = [];
    const note = (name: string) => () => void passed.push([name, simulator.clock.now() - fromMs]);
    const first = simulator.clock.advance(60).then(note("first"));
    const second = simulator.clock.advance(300).then(note("second"));
    await Promise.all([first, second]);
    expect(simulator.clock.now() - fromMs).toBe(360_000);
    expect(passed.map(([name]) => name).toSorted()).toEqual(["first", "second"]);
    await simulator.clock.advance(1);
    expect(simulator.clock.now() - fromMs).toBe(361_000);
  });

  test("in mode skip first reaches a requested time, and only then skips further", async () => {
    const simulator = openSimulator({ clock: "skip", send: answering(500) });
    register(simulator, "http://localhost:9/");
    const id = emitOne(simulator);
    await simulator.clock.advance(90);
    expect(simulator.deliveries.attempts(id)).toHaveLength(2);
    await simulator.settled();
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "dead", attemptsMade: 6 });
  });

  test("to the end of the schedule and further at the same time reaches both", async () => {
    const { simulator, id } = await startFailing({ clock: "manual" });
    await Promise.all([simulator.clock.run(), simulator.clock.advance(60)]);
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "dead", attemptsMade: 6 });
  });
});

describe("the manual clock", () => {
  test("makes no attempt a second early and every one on its second", async () => {
    const { endpoint, simulator } = await startFailing({ clock: "manual" });
    await simulator.settled();
    for (const [index, delaySeconds] of DELAYS_SECONDS.entries()) {
      await simulator.clock.advance(delaySeconds - 1);
      expect(endpoint.received).toHaveLength(index + 1);
      await simulator.clock.advance(1);
      expect(endpoint.received).toHaveLength(index + 2);
    }
  });

  test("goes through all due times of one long step, each attempt at its own", async () => {
    const { simulator, id } = await startFailing({ clock: "manual" });
    const beforeMs = simulator.clock.now();
    await simulator.clock.advance(86_400);
    expect(gapsSeconds(simulator, id)).toEqual(DELAYS_SECONDS);
    expect(simulator.clock.now()).toBe(beforeMs + 86_400_000);
  });

  test("stands still while wall time passes", async () => {
    const wall = createVirtualWall();
    const simulator = openSimulator({ clock: "manual", wall });
    const beforeMs = simulator.clock.now();
    wall.pass(3_600_000);
    expect(simulator.clock.now()).toBe(beforeMs);
  });

  test("continues from its current time when the mode changes", () => {
    const wall = createVirtualWall();
    const simulator = openSimulator({ clock: "manual", wall });
    const beforeMs = simulator.clock.now();
    wall.jump(3_600_000);
    simulator.clock.setMode("real");
    expect(simulator.clock.now()).toBe(beforeMs);
    wall.jump(5_000);
    simulator.clock.setMode("manual");
    wall.jump(3_600_000);
    expect(simulator.clock.now()).toBe(beforeMs + 5_000);
  });

  test("stays on whole milliseconds when it is advanced by less", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    register(simulator, endpoint.url);
    await simulator.clock.advance(0.0001);
    emitOne(simulator);
    await simulator.clock.run();
    expect(Number.isInteger(simulator.clock.now())).toBe(true);
    expect(endpoint.received).toHaveLength(6);
  });

  test("moves to the next due time on request", async () => {
    const { endpoint, simulator, id } = await startFailing({ clock: "manual" });
    await simulator.clock.next();
    await simulator.clock.next();
    expect(endpoint.received).toHaveLength(3);
    expect(gapsSeconds(simulator, id)).toEqual([60, 300]);
    await simulator.clock.advance(1);
    await simulator.clock.next();
    const beforeMs = simulator.clock.now();
    await simulator.clock.advance(1);
    expect(simulator.clock.now()).toBe(beforeMs + 1_000);
  });
});

describe("the real clock", () => {
  test("makes the second attempt after 60 s of wall time and not before", async () => {
    const { endpoint, wall, simulator } = await waitingForTheSecondAttempt();
    wall.pass(59_999);
    await simulator.settled();
    expect(endpoint.received).toHaveLength(1);
    wall.pass(1);
    await endpoint.until(2);
    expect((endpoint.received[1]?.t ?? 0) - (endpoint.received[0]?.t ?? 0)).toBe(60);
  });

  test("goes through the whole schedule in 14 h 36 min", async () => {
    const { endpoint, wall, simulator, id } = await waitingForTheSecondAttempt();
    for (const delaySeconds of DELAYS_SECONDS) {
      const ended = nextEntry(simulator, ({ kind }) => kind === "attempt.ended");
      wall.pass(delaySeconds * 1000);
      await ended;
    }
    const [first] = endpoint.received;
    expect((endpoint.received.at(-1)?.t ?? 0) - (first?.t ?? 0)).toBe(14 * 3_600 + 36 * 60);
    expect(deliveryOf(simulator, id).state).toBe("dead");
  });

  test("holds no timer longer than a second", async () => {
    const { wall } = await waitingForTheSecondAttempt();
    expect(wall.nextTimerInMs()).toBeLessThanOrEqual(1_000);
  });

  test("can be changed for another while deliveries wait", async () => {
    const { simulator, id } = await waitingForTheSecondAttempt();
    simulator.clock.setMode("skip");
    await simulator.settled();
    expect(gapsSeconds(simulator, id)).toEqual(DELAYS_SECONDS);
  });
});
