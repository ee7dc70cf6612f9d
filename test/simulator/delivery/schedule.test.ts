import { describe, expect, test } from "vitest";
import { verify } from "../../../shared/signature.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { DELAYS_SECONDS, startFailing } from "../../helpers/failing-delivery.ts";
import { deliveryOf, emitOne, gapsSeconds, openSimulator, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

describe("an endpoint that always answers 500", () => {
  test("gets six attempts on the wire, exactly on schedule, then the delivery is dead", async () => {
    const startedMs = performance.now();
    const { endpoint, simulator, id } = await startFailing({ clock: "skip" });
    await simulator.settled();

    expect(endpoint.received).toHaveLength(6);
    expect(deliveryOf(simulator, id)).toMatchObject({
      state: "dead",
      nextAttemptAtMs: null,
      attemptsMade: 6,
    });
    expect(gapsSeconds(simulator, id)).toEqual(DELAYS_SECONDS);
    for (const attempt of simulator.deliveries.attempts(id)) {
      expect(attempt.startedAtMs).toBeGreaterThanOrEqual(attempt.scheduledAtMs);
      expect(attempt).toMatchObject({ httpStatus: 500, error: null });
    }
    expect(performance.now() - startedMs).toBeLessThan(60_000);
  });

  test("sees the same id and the same bytes six times, each signed at its own moment", async () => {
    const wall = createVirtualWall();
    const { endpoint, simulator, secret, id } = await startFailing({ clock: "manual", wall });
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
    const { endpoint, simulator, id } = await startFailing({ clock: "manual" });
    await simulator.clock.run();
    await simulator.clock.advance(10 * 86_400);
    expect(simulator.deliveries.attemptNow(id)).toMatchObject({ ok: false, reason: "nothing_due" });
    await simulator.settled();
    expect(endpoint.received).toHaveLength(6);
    expect(simulator.clock.nextDueMs()).toBeUndefined();
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
