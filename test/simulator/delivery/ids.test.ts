import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { stableId } from "../../../simulator/domain/random.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { allEvents } from "../../helpers/records.ts";
import { deliveryOf, emit, openSimulator, register, temporaryDirectory } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

const idsOf = (simulator: Simulator) =>
  allEvents(simulator)
    .map(({ id }) => id)
    .toReversed();

/** The ids that a simulator of seed 7 gives its first `count` events. */
function firstIds(count: number): string[] {
  const simulator = openSimulator({ seed: 7 });
  emit(simulator, "call.completed", count);
  return idsOf(simulator);
}

function replay(simulator: Simulator, id: string) {
  return simulator.events.replay([sampleEnvelope("call.completed", { id })], { newIds: false });
}

describe("ids of events", () => {
  test("are counted from 1, so that a seed means the same ids in every release", () => {
    expect(firstIds(3)).toEqual(
      [1, 2, 3].map((count) => stableId("evt_", 32, { seed: 7, purpose: "event", index: count })),
    );
  });

  test("are the same for a seed, even with replays under other ids in between", () => {
    const simulator = openSimulator({ seed: 7 });
    emit(simulator);
    for (const digit of ["a", "b"]) expect(replay(simulator, `evt_${digit.repeat(32)}`).ok).toBe(true);
    emit(simulator, "call.completed", 2);
    const own = idsOf(simulator).filter((id) => !/(?:a{32}|b{32})$/.test(id));
    expect(own).toEqual(firstIds(3));
  });

  test("skip one that was recorded from the same seed and replayed before its turn", () => {
    const [first = "", second = "", third] = firstIds(3);
    const simulator = openSimulator({ seed: 7 });
    for (const id of [second, first]) expect(replay(simulator, id).ok).toBe(true);
    emit(simulator, "call.completed", 2);
    const ids = idsOf(simulator);
    expect(ids.slice(0, 3)).toEqual([second, first, third]);
    expect(new Set(ids).size).toBe(4);
  });

  test("continue after restarts and resets, and are not used up by refusals", async () => {
    const dataFile = join(temporaryDirectory(), "simulator.db");
    const first = openSimulator({ dataFile, seed: 7 });
    register(first, "http://localhost:9/");
    const [delivered] = emit(first);
    expect(first.events.emit({ type: "call.completed", orgId: "org_none" }).ok).toBe(false);
    await first.reset({ endpoints: true });
    await first.close();
    const second = openSimulator({ dataFile, seed: 7 });
    expect(emit(second, "call.completed", 2)).not.toContain(delivered);
    expect(idsOf(second)).toEqual(firstIds(3).slice(1));
  });

  test("of replays under new ids come from the same sequence", () => {
    const simulator = openSimulator({ seed: 7 });
    const recorded = sampleEnvelope("call.completed");
    expect(simulator.events.replay([recorded, recorded], { newIds: true }).ok).toBe(true);
    expect(idsOf(simulator)).toEqual(firstIds(2));
  });
});

describe("what is refused", () => {
  test("half-way through leaves no event, no delivery and no object", () => {
    const simulator = openSimulator({ seed: 7 });
    // The voicemail has the id of its own call, so the two ids collide.
    const object = { id: "same", call_id: "same" };
    const noticed: string[] = [];
    simulator.journal.watch(({ kind }) => noticed.push(kind));
    const result = simulator.events.emit({ type: "voicemail.created", object }, 2);
    expect(result).toMatchObject({ ok: false, reason: undefined });
    expect(simulator.counts.events()).toBe(0);
    expect(simulator.world.findVoicemail("same")).toBeUndefined();
    expect(noticed).toEqual([]);
    emit(simulator);
    expect(idsOf(simulator)).toEqual(firstIds(1));
  });

  test("of a replay is created and due when it is replayed, and not at its original time", async () => {
    const simulator = openSimulator({
      clock: "manual",
      send: async () => ({ outcome: { status: 200 }, durationMs: 1 }),
    });
    register(simulator, "http://localhost:9/");
    emit(simulator);
    await simulator.settled();
    await simulator.clock.advance(7_200);
    const [known] = allEvents(simulator);
    const [unknown, triggered] = [sampleEnvelope("order.created"), JSON.parse(String(known?.body))];
    const again = simulator.events.replay([triggered, unknown], { newIds: false });
    const deliveries = again.ok ? again.emitted.flatMap((one) => one.deliveries) : [];
    const nowMs = simulator.clock.now();
    expect(deliveries.map(({ id }) => deliveryOf(simulator, id))).toMatchObject(
      deliveries.map(() => ({ createdAtMs: nowMs, nextAttemptAtMs: nowMs })),
    );
    expect(deliveries).toHaveLength(2);
  });

  test("is the whole replay, if one of its ids belongs to another event", () => {
    const simulator = openSimulator();
    const known = sampleEnvelope("call.completed");
    const other = sampleEnvelope("order.created", { id: `evt_${"c".repeat(32)}` });
    expect(simulator.events.replay([known], { newIds: false }).ok).toBe(true);
    const edited = { ...known, created: known.created + 1 };
    const refused = simulator.events.replay([other, edited], { newIds: false });
    expect(refused).toMatchObject({
      ok: false,
      reason: "id_taken",
      message: expect.stringContaining(known.id),
    });
    expect(simulator.counts.events()).toBe(1);
    expect(simulator.events.replay([other, { ...other, created: 1 }], { newIds: false }).ok).toBe(false);
    expect(simulator.counts.events()).toBe(1);
    expect(simulator.events.replay([edited], { newIds: true }).ok).toBe(true);
    // The same again, in another order of keys, is the same event.
    const { id, ...rest } = known;
    expect(simulator.events.replay([{ ...rest, id }], { newIds: false }).ok).toBe(true);
    expect(simulator.counts.events()).toBe(2);
  });
});

test("a seed means the same history on any day; without one it ends today", () => {
  const days = [Date.UTC(2026, 1, 3, 17), Date.UTC(2031, 6, 1, 23, 59)];
  const worlds = days.map((ms) => {
    const shared = { calls: 20, wall: createVirtualWall(ms), clock: "manual" } as const;
    const [seeded, drawn] = [
      openSimulator(shared).world,
      openSimulator({ ...shared, seed: undefined }).world,
    ];
    const calls = seeded.organizations().map(({ organization: { id } }) => seeded.calls(id, { limit: 100 }));
    return { calls, ends: drawn.origin.epochMs };
  });
  expect(worlds[0]?.calls).toMatchObject([{ data: { length: 10 } }, { data: { length: 10 } }]);
  expect(worlds[1]?.calls).toEqual(worlds[0]?.calls);
  expect(worlds.map(({ ends }) => ends)).toEqual([Date.UTC(2026, 1, 3), Date.UTC(2031, 6, 1)]);
});
