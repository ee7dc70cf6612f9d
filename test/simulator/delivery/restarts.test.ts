import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SendRequest, SendResult } from "../../../simulator/domain/flights.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";
import { allDeliveries, allEvents } from "../../helpers/records.ts";
import {
  deliveryOf,
  emit,
  emitOne,
  fileAfterKill,
  openSimulator,
  readingsWith,
  register,
  temporaryDirectory,
} from "../../helpers/simulator.ts";

/** A data file, and simulators that run on it one after another. */
function dataFile(): string {
  return join(temporaryDirectory(), "simulator.db");
}

describe("a simulator that is stopped and started again on its data file", () => {
  test("knows its endpoints, events, deliveries and attempts as before", async () => {
    const endpoint = await startEndpoint(500);
    const file = dataFile();
    const first = openSimulator({ dataFile: file, clock: "manual" });
    register(first, endpoint.url, { eventTypes: ["call.completed"] });
    const id = emitOne(first);
    await first.clock.advance(60);
    const look = (simulator: typeof first) => ({
      endpoints: simulator.endpoints.list(),
      events: allEvents(simulator),
      deliveries: allDeliveries(simulator),
      attempts: simulator.deliveries.attempts(id),
      now: simulator.clock.now(),
      seed: simulator.seed,
    });
    const before = look(first);
    await first.close();
    const second = openSimulator({ dataFile: file, clock: "manual" });
    expect(look(second)).toEqual(before);
  });

  test.each([0, 1, 2, 3, 4, 5])("after %i attempts makes the rest and not one more", async (made) => {
    const endpoint = await startEndpoint(500);
    const file = dataFile();
    const first = openSimulator({ dataFile: file, clock: "manual" });
    register(first, endpoint.url);
    // Before the first attempt there is nothing to wait for: the event has just been stored.
    const id = emitOne(first);
    if (made > 0) await first.settled();
    for (let count = 1; count < made; count++) await first.clock.next();
    const dueMs = deliveryOf(first, id).nextAttemptAtMs;
    await first.close();
    expect(endpoint.received).toHaveLength(made);

    const second = openSimulator({ dataFile: file, clock: "manual" });
    expect(deliveryOf(second, id).nextAttemptAtMs).toBe(dueMs);
    await second.clock.run();
    expect(endpoint.received).toHaveLength(6);
    expect(new Set(endpoint.received.map(({ body }) => body.toString("hex"))).size).toBe(1);
    expect(second.deliveries.attempts(id).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("with many open deliveries loses none and repeats none", async () => {
    const file = dataFile();
    const endpoint = await startEndpoint(200);
    const first = openSimulator({ dataFile: file, clock: "skip" });
    register(first, endpoint.url);
    emit(first, "call.completed", 100);
    await endpoint.until(40);
    await first.close();
    const second = openSimulator({ dataFile: file, clock: "skip" });
    await second.settled();
    const deliveries = allDeliveries(second);
    expect(deliveries.map(({ state }) => state)).toEqual(Array.from({ length: 100 }, () => "delivered"));
    // Requests on the wire at the end may have arrived: they count as interrupted and are sent again.
    const onTheWire = deliveries.reduce((sum, { attemptsMade }) => sum + attemptsMade, 0);
    expect(endpoint.received.length).toBeLessThanOrEqual(onTheWire);
    for (const { id, attemptsMade } of deliveries) {
      const attempts = second.deliveries.attempts(id);
      expect(attempts.map(({ error }) => error)).toEqual(attemptsMade === 1 ? [null] : ["interrupted", null]);
      // The first simulator was closed cleanly and has stored how each of them ended.
      for (const { durationMs } of attempts) expect(durationMs).not.toBeNull();
    }
  });

  test("makes what fell due meanwhile at once, each once", async () => {
    const endpoint = await startEndpoint(500);
    const file = dataFile();
    const wall = createVirtualWall();
    const first = openSimulator({ dataFile: file, clock: "real", wall });
    register(first, endpoint.url);
    emitOne(first);
    await first.settled();
    await first.close();
    wall.jump(12 * 3_600_000);
    const second = openSimulator({ dataFile: file, clock: "real", wall });
    await second.settled();
    expect(endpoint.received).toHaveLength(2);
  });

  test.each([
    ["real", -12],
    ["skip", 48],
    ["manual", 48],
  ] as const)(
    "with the clock %s continues from the last schedule time, never before it",
    async (mode, hours) => {
      const file = dataFile();
      const wall = createVirtualWall();
      const first = openSimulator({ dataFile: file, clock: mode, wall });
      await first.clock.advance(hours > 0 ? hours * 3_600 : 0);
      const beforeMs = first.clock.now();
      await first.close();
      wall.jump(hours > 0 ? 3_600_000 : hours * 3_600_000);
      const second = openSimulator({ dataFile: file, clock: mode, wall });
      expect(second.clock.now()).toBe(beforeMs);
    },
  );

  test("continues the numbers of its journal, so that no watcher takes a new entry for an old one", async () => {
    const file = dataFile();
    const first = openSimulator({ dataFile: file });
    register(first, "http://localhost:9");
    const lastId = first.journal.lastId();
    await first.close();
    const second = openSimulator({ dataFile: file });
    expect(second.journal.lastId()).toBeGreaterThanOrEqual(lastId);
    expect(second.journal.since(lastId - 1)).toBeUndefined();
  });
});

describe("an attempt that was open when the simulator died", () => {
  /** Kills a simulator in the middle of an attempt: it runs no more code and cleans nothing up. */
  async function dieDuringAttempt(options: {
    attempt: number;
    readings?: Parameters<typeof readingsWith>[0];
  }) {
    const file = dataFile();
    const wall = createVirtualWall();
    const sent: SendRequest[] = [];
    const send = (request: SendRequest): Promise<SendResult> => {
      sent.push(request);
      if (sent.length !== options.attempt)
        return Promise.resolve({ outcome: { status: 500 }, durationMs: 1 });
      return new Promise((resolve) => {
        const end = () => resolve({ outcome: { error: "interrupted" }, durationMs: 1 });
        request.signal.addEventListener("abort", end);
      });
    };
    const shared = { clock: "manual", wall, readings: readingsWith(options.readings ?? {}) } as const;
    const first = openSimulator({ ...shared, dataFile: file, send });
    register(first, "http://localhost:9");
    const id = emitOne(first);
    if (options.attempt > 1) await first.settled();
    for (let count = 2; count < options.attempt; count++) await first.clock.next();
    if (options.attempt > 1) void first.clock.next();
    while (sent.length < options.attempt) await new Promise((resolve) => setImmediate(resolve));
    const openedAtMs = first.deliveries.attempts(id).at(-1)?.startedAtMs ?? 0;
    const dataFileOfSecond = fileAfterKill(file, "killed");
    const lastId = first.journal.lastId();
    await first.close();
    const second = openSimulator({
      ...shared,
      dataFile: dataFileOfSecond,
      send: (request) => {
        sent.push(request);
        return Promise.resolve({ outcome: { status: 500 }, durationMs: 1 });
      },
    });
    expect(second.journal.lastId()).toBeGreaterThanOrEqual(lastId);
    return { second, sent, id, openedAtMs };
  }

  test.each([1, 2, 5])(
    "as attempt %i counts as interrupted, and the next comes on schedule",
    async (attempt) => {
      const { second, sent, id } = await dieDuringAttempt({ attempt });
      const [open] = second.deliveries.attempts(id).slice(attempt - 1);
      expect(open).toMatchObject({ number: attempt, error: "interrupted", httpStatus: null });
      expect(deliveryOf(second, id)).toMatchObject({ state: "attempting", attemptsMade: attempt });
      await second.clock.run();
      expect(sent).toHaveLength(6);
      expect(deliveryOf(second, id).state).toBe("dead");
    },
  );

  test("counts its delay from the next start, after any downtime", async () => {
    const file = dataFile();
    const wall = createVirtualWall();
    const shared = { clock: "real", wall } as const;
    const out = Promise.withResolvers<void>();
    const first = openSimulator({
      ...shared,
      dataFile: file,
      send: ({ signal }) =>
        new Promise((resolve) => {
          out.resolve();
          signal.addEventListener("abort", () =>
            resolve({ outcome: { error: "interrupted" }, durationMs: 1 }),
          );
        }),
    });
    register(first, "http://localhost:9");
    const id = emitOne(first);
    await out.promise;
    const killed = fileAfterKill(file, "killed");
    await first.close();
    wall.pass(7_200_000);
    const second = openSimulator({ ...shared, dataFile: killed, send: () => new Promise(() => {}) });
    const [open] = second.deliveries.attempts(id);
    expect(open).toMatchObject({ error: "interrupted", endedAtMs: second.clock.now() });
    expect(deliveryOf(second, id).nextAttemptAtMs).toBe(second.clock.now() + 60_000);
  });

  test("as the sixth leaves the delivery dead: there is no seventh", async () => {
    const { second, sent, id } = await dieDuringAttempt({ attempt: 6 });
    expect(deliveryOf(second, id)).toMatchObject({ state: "dead", attemptsMade: 6, nextAttemptAtMs: null });
    await second.clock.advance(10 * 86_400);
    expect(sent).toHaveLength(6);
    expect(second.endpoints.list()[0]?.consecutiveFailures).toBe(6);
  });

  test("counts its delay from where the reading says", async () => {
    const { second, id, openedAtMs } = await dieDuringAttempt({
      attempt: 1,
      readings: { delay_counts_from: "attempt_start" },
    });
    expect(deliveryOf(second, id).nextAttemptAtMs).toBe(openedAtMs + 60_000);
  });
});

test.each(["manual", "real", "skip"] as const)(
  "after a restart the clock %s continues correctly",
  async (clock) => {
    const file = dataFile();
    const wall = createVirtualWall();
    const first = openSimulator({ dataFile: file, wall, clock });
    if (clock === "manual") await first.clock.advance(3_600);
    const stoodAtMs = first.clock.now();
    await first.close();
    const later = createVirtualWall(wall.nowMs() + 7_200_000);
    const next = openSimulator({ dataFile: file, wall: later, clock });
    expect(next.clock.now()).toBe(clock === "manual" ? stoodAtMs : later.nowMs());
  },
);
