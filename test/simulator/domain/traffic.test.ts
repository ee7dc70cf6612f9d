import { expect, test } from "vitest";
import { trafficStep } from "../../../simulator/domain/traffic.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { allEvents } from "../../helpers/records.ts";
import { emitOne, openSimulator, register } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

test.each([
  [60, 20_000],
  // Some hours between two of them.
  [0.002, 30 * 86_400_000],
])("at %d a minute calls come in one after the other, each at its time", (rate, forMs) => {
  const wall = createVirtualWall();
  const simulator = openSimulator({ wall, clock: "real" });
  const startMs = wall.nowMs();
  simulator.traffic.set(6_000);
  simulator.traffic.set(rate);
  wall.pass(forMs);
  simulator.traffic.set(0);
  wall.pass(60_000);

  const { businesses, origin } = simulator.world;
  const { seed } = origin;
  const expected: number[] = [];
  for (let atMs = 0, index = 0; ; index++) {
    atMs += trafficStep({ seed, index, perMinute: rate, businesses }).afterMs;
    if (atMs > forMs) break;
    expected.push(atMs);
  }
  expect(expected.length).toBeGreaterThan(10);
  const happened = new Set(allEvents(simulator).map(({ createdAtMs }) => createdAtMs - startMs));
  expect([...happened].toReversed()).toEqual(expected);
});

const FAILS = () => Promise.resolve({ outcome: { status: 500 }, durationMs: 1 });

test.each<[string, (simulator: Simulator) => unknown]>([
  ["nothing", () => undefined],
  ["calls that come in", ({ traffic }) => traffic.set(30)],
  ["a delivery that waits for its next attempt", (simulator) => emitOne(simulator)],
  ["a story", ({ scenarios }) => scenarios.begin("outage")],
  [
    "a receiver that is asked what it did",
    (simulator) => {
      simulator.verdicts.observe(() => Promise.resolve({ known: true, count: 0 }));
      emitOne(simulator);
    },
  ],
])("a simulator that is closed leaves no timer of its own behind: %s", async (_, begin) => {
  const wall = createVirtualWall();
  const simulator = openSimulator({ wall, clock: "real", send: FAILS });
  register(simulator, "http://localhost:9/");
  begin(simulator);
  await simulator.settled();
  expect(wall.waitingTimers()).toBeGreaterThan(0);
  await simulator.close();
  expect(wall.waitingTimers()).toBe(0);
  // A remaining timer would act on a closed state.
  wall.pass(86_400_000);
});

test("an attempt that is open when its simulator is closed leaves no timer behind", async () => {
  const wall = createVirtualWall();
  const silent = await startEndpoint(() => {});
  const simulator = openSimulator({ wall, clock: "real" });
  register(simulator, silent.url);
  emitOne(simulator);
  await silent.until(1);
  await simulator.close();
  expect(wall.waitingTimers()).toBe(0);
});
