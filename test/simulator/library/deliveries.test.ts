import { expect, test } from "vitest";
import { createDeliveryControl } from "../../../simulator/library/deliveries.ts";
import { deliveryDetailView } from "../../../simulator/control/views.ts";
import { systemTime } from "../../../simulator/domain/wall-time.ts";
import { answering, emit, openSimulator, register } from "../../helpers/simulator.ts";

test("a list continues after a search that took too long, and ends at its limit", async () => {
  let looks: number | undefined;
  const wall = {
    ...systemTime,
    // No time is left for the third row of a list.
    monotonicMs: () => (looks === undefined ? 0 : ++looks > 3 ? 1_000 : 0),
  };
  const send = answering(200);
  const simulator = openSimulator({ clock: "manual", wall, send });
  const { id: endpointId } = register(simulator, "http://localhost:9/");
  const ids = emit(simulator, "call.completed", 6);
  await simulator.settled();
  const control = createDeliveryControl(simulator);
  for (const limit of [3, 6]) {
    looks = 0;
    // Two filters: a list with one filter uses an index and has no time limit.
    const list = control.list({ endpointId, state: "delivered", limit });
    expect(list.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, limit));
    expect(looks).toBeGreaterThan(4);
  }
});

test("an attempt has separate times: due, started and ended, each in schedule and wall time", async () => {
  const beganMs = Date.UTC(2026, 4, 1, 12);
  let nowMs = beganMs;
  // Each request takes five seconds, and a second one waits for the first.
  const send = async () => {
    nowMs += 5_000;
    return { outcome: { status: 500 }, durationMs: 4_000 };
  };
  const wall = { ...systemTime, nowMs: () => nowMs, monotonicMs: () => nowMs };
  const simulator = openSimulator({ clock: "real", concurrency: 1, wall, send });
  register(simulator, "http://localhost:9/");
  const [, second = ""] = emit(simulator, "call.completed", 2);
  await simulator.settled();

  const [attempt] = createDeliveryControl(simulator).get(second).attempts;
  const at = (seconds: number) => new Date(beganMs + seconds * 1_000);
  expect(attempt).toMatchObject({
    scheduledAt: at(0),
    startedAt: at(5),
    wallStartedAt: at(5),
    durationMs: 4_000,
    signatureTimestamp: beganMs / 1_000 + 5,
  });
  const detail = simulator.deliveries.detail(second);
  if (!detail.ok) throw new Error(detail.message);
  expect(deliveryDetailView(detail)).toMatchObject({
    created_at: at(0).toISOString(),
    // The schedule continues from the end of the attempt, a second before it was noticed.
    next_attempt_at: at(9 + 60).toISOString(),
    attempts: [
      {
        scheduled_at: at(0).toISOString(),
        started_at: at(5).toISOString(),
        ended_at: at(9).toISOString(),
        wall_started_at: at(5).toISOString(),
        duration_ms: 4_000,
        signature_timestamp: beganMs / 1_000 + 5,
      },
    ],
  });
});

test("what a selection matches is counted and sent again; a time may be a Date", async () => {
  let status = 500;
  const simulator = openSimulator({
    clock: "manual",
    send: async () => ({ outcome: { status }, durationMs: 1 }),
  });
  register(simulator, "http://localhost:9/");
  emit(simulator, "call.completed", 3);
  await simulator.clock.run();
  status = 200;
  const control = createDeliveryControl(simulator);
  const later = new Date(simulator.clock.now() + 1_000);
  const total = async (selection = {}) => (await control.count(selection)).total;
  expect([await total(), await total({ since: later })]).toEqual([3, 0]);
  expect(await control.resendAll({ state: "dead", until: later })).toEqual({ total: 3 });
  expect([await total({ state: "delivered" }), await total()]).toEqual([3, 6]);
});
