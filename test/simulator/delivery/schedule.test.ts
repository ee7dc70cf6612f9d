import { describe, expect, test } from "vitest";
import { verify } from "../../../shared/signature.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { waitingForTheSecondAttempt } from "../../helpers/second-attempt.ts";
import {
  deliveryOf,
  emitOne,
  gapsSeconds,
  nextEntry,
  openSimulator,
  register,
} from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

/** SPEC §6 Retry policy. */
const DELAYS_SECONDS = [60, 300, 1_800, 7_200, 43_200];

describe("an endpoint that always answers 500", () => {
  test("gets six attempts on the wire, exactly on schedule, then the delivery is dead", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "skip" });
    register(simulator, endpoint.url);
    const startedMs = performance.now();
    const id = emitOne(simulator);
    await simulator.settled();

    expect(endpoint.received).toHaveLength(6);
    expect(deliveryOf(simulator, id)).toMatchObject({
      state: "dead",
      nextAttemptAtMs: null,
      attemptsMade: 6,
    });
    expect(gapsSeconds(simulator, id)).toEqual([...DELAYS_SECONDS]);
    for (const attempt of simulator.deliveries.attempts(id)) {
      expect(attempt.startedAtMs).toBeGreaterThanOrEqual(attempt.scheduledAtMs);
      expect(attempt).toMatchObject({ httpStatus: 500, error: null });
    }
    expect(performance.now() - startedMs).toBeLessThan(60_000);
  });

  test("sees the same id and the same bytes six times, each signed at its own moment", async () => {
    const endpoint = await startEndpoint(500);
    const wall = createVirtualWall();
    const simulator = openSimulator({ clock: "manual", wall });
    const { secret } = register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.settled();
    for (const delaySeconds of DELAYS_SECONDS) {
      // Wall time is independent: the signed time is the time of sending, not that of the schedule.
      wall.pass(7_600);
      await simulator.clock.advance(delaySeconds);
    }

    const [first] = endpoint.received;
    expect(endpoint.received).toHaveLength(6);
    expect(new Set(endpoint.received.map(({ body }) => body.toString("hex"))).size).toBe(1);
    expect(new Set(endpoint.received.map(({ signature }) => signature)).size).toBe(6);
    expect(endpoint.received.map(({ t }) => t - (first?.t ?? 0))).toEqual([0, 8, 15, 23, 31, 38]);
    for (const { body, signature, t } of endpoint.received) {
      expect(verify({ headers: [signature], body, secrets: [secret], nowSeconds: t })).toMatchObject({
        ok: true,
      });
    }
    expect(simulator.deliveries.attempts(id).map((attempt) => attempt.signatureTimestamp)).toEqual(
      endpoint.received.map(({ t }) => t),
    );
  });

  test("never gets a seventh attempt in any clock mode", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.clock.run();
    await simulator.clock.advance(10 * 86_400);
    expect(simulator.deliveries.attemptNow(id)).toMatchObject({ ok: false, reason: "nothing_due" });
    await simulator.settled();
    expect(endpoint.received).toHaveLength(6);
    expect(simulator.clock.nextDueMs()).toBeUndefined();
  });
});

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
    const simulator = openSimulator({
      clock: "skip",
      send: async () => ({ outcome: { status: 500 }, durationMs: 1 }),
    });
    register(simulator, "http://localhost:9/");
    const id = emitOne(simulator);
    await simulator.clock.advance(90);
    expect(simulator.deliveries.attempts(id)).toHaveLength(2);
    await simulator.settled();
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "dead", attemptsMade: 6 });
  });

  test("to the end of the schedule and further at the same time reaches both", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await Promise.all([simulator.clock.run(), simulator.clock.advance(60)]);
    expect(deliveryOf(simulator, id)).toMatchObject({ state: "dead", attemptsMade: 6 });
  });
});

describe("the end of a delivery", () => {
  test.each([200, 201, 202, 204, 299])("is a %i: no further attempt", async (status) => {
    const endpoint = await startEndpoint(status);
    const simulator = openSimulator({ clock: "skip" });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    await simulator.settled();
    expect(endpoint.received).toHaveLength(1);
    expect(deliveryOf(simulator, id).state).toBe("delivered");
  });

  test.each([300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503])(
    "is not a %i: the next attempt is due",
    async (status) => {
      const endpoint = await startEndpoint((response) =>
        response.writeHead(status, { location: `${endpoint.url}/elsewhere`, "retry-after": "1" }).end(),
      );
      const simulator = openSimulator({ clock: "manual" });
      register(simulator, endpoint.url);
      const id = emitOne(simulator);
      await simulator.settled();
      const [attempt] = simulator.deliveries.attempts(id);
      expect(endpoint.received.map(({ path }) => path)).toEqual(["/webhooks"]);
      expect(attempt?.httpStatus).toBe(status);
      expect(deliveryOf(simulator, id)).toMatchObject({
        state: "attempting",
        nextAttemptAtMs: (attempt?.endedAtMs ?? 0) + 60_000,
      });
    },
  );

  test("can come with any attempt, and the attempts before it stay visible", async () => {
    for (const lastAttempt of [2, 3, 4, 5, 6]) {
      const endpoint = await startEndpoint((response, count) =>
        response.writeHead(count === lastAttempt ? 200 : 500).end(),
      );
      const simulator = openSimulator({ clock: "skip" });
      register(simulator, endpoint.url);
      const id = emitOne(simulator);
      await simulator.settled();
      expect(deliveryOf(simulator, id).state).toBe("delivered");
      expect(simulator.deliveries.attempts(id).map(({ httpStatus }) => httpStatus)).toEqual([
        ...Array.from({ length: lastAttempt - 1 }, () => 500),
        200,
      ]);
    }
  });
});

describe("the manual clock", () => {
  test("makes no attempt a second early and every one on its second", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    register(simulator, endpoint.url);
    emitOne(simulator);
    await simulator.settled();
    for (const [index, delaySeconds] of DELAYS_SECONDS.entries()) {
      await simulator.clock.advance(delaySeconds - 1);
      expect(endpoint.received).toHaveLength(index + 1);
      await simulator.clock.advance(1);
      expect(endpoint.received).toHaveLength(index + 2);
    }
  });

  test("goes through all due times of one long step, each attempt at its own", async () => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
    const beforeMs = simulator.clock.now();
    await simulator.clock.advance(86_400);
    expect(gapsSeconds(simulator, id)).toEqual([...DELAYS_SECONDS]);
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
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "manual" });
    register(simulator, endpoint.url);
    const id = emitOne(simulator);
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
    expect(gapsSeconds(simulator, id)).toEqual([...DELAYS_SECONDS]);
  });
});
