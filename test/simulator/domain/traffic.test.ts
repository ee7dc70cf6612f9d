import { expect, test } from "vitest";
import { allEvents } from "../../helpers/records.ts";
import { openSimulator } from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

test("calls come in one after the other, each at its time, at the last rate that was asked for", () => {
  const wall = createVirtualWall();
  const simulator = openSimulator({ wall, clock: "real" });
  const startMs = wall.nowMs();
  simulator.traffic.set(6_000);
  simulator.traffic.set(60);
  wall.pass(20_000);
  simulator.traffic.set(0);
  wall.pass(60_000);

  const expected: number[] = [];
  for (let atMs = 0, index = 0; ; index++) {
    atMs += simulator.world.traffic(index, 60).afterMs;
    if (atMs > 20_000) break;
    expected.push(atMs);
  }
  expect(expected.length).toBeGreaterThan(10);
  const happened = new Set(allEvents(simulator).map(({ createdAtMs }) => createdAtMs - startMs));
  expect([...happened].toReversed()).toEqual(expected);
});
