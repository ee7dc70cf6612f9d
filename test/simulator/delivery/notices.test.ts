import { join } from "node:path";
import { expect, test } from "vitest";
import type { FaultName } from "../../../simulator/domain/faults.ts";
import { parseScenario } from "../../../simulator/domain/world/scenario.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import {
  emitOne,
  fileAfterKill,
  openSimulator,
  register,
  resend,
  temporaryDirectory,
} from "../../helpers/simulator.ts";
import { createVirtualWall } from "../../helpers/virtual-wall.ts";

/** Watchers get every change of the clock; steps at the same time run in the order of the scenarios. */

const failing = () => Promise.resolve({ outcome: { status: 500 }, durationMs: 1 });

const MOVES: [name: string, move: (simulator: Simulator) => unknown][] = [
  ["advance", ({ clock }) => clock.advance(60)],
  ["advance by nothing due", ({ clock }) => clock.advance(1)],
  ["next", ({ clock }) => clock.next()],
  ["run", ({ clock }) => clock.run()],
  ["another mode", ({ clock }) => clock.setMode("real")],
  ["a clock that skips", ({ clock }) => clock.setMode("skip")],
  ["a story", ({ scenarios }) => scenarios.begin("outage")],
];

test.each(MOVES)("a watcher gets each change of the clock, with its time: %s", async (_, move) => {
  const simulator = openSimulator({ clock: "manual", send: failing });
  register(simulator, "http://localhost:9/");
  emitOne(simulator);
  await simulator.settled();
  let noticedAt: number | undefined;
  const stop = simulator.journal.watch(({ kind }) => {
    if (kind === "clock.changed") noticedAt = simulator.clock.now();
  });
  await move(simulator);
  await simulator.settled();
  stop();
  expect(noticedAt).toBeDefined();
  expect(Math.abs((noticedAt ?? 0) - simulator.clock.now())).toBeLessThan(1_000);
});

test.each([...MOVES, ["an event", (simulator: Simulator) => emitOne(simulator)] as const])(
  "after a kill a clock that lags behind the machine's keeps its time: %s",
  async (_, move) => {
    const dataFile = join(temporaryDirectory(), "simulator.db");
    const wall = createVirtualWall();
    const shared = { wall, clock: "manual", send: failing } as const;
    const simulator = openSimulator({ ...shared, dataFile });
    register(simulator, "http://localhost:9/");
    emitOne(simulator);
    await simulator.settled();
    await simulator.clock.advance(1);
    wall.jump(86_400_000 * 2);
    await move(simulator);
    await simulator.settled();
    const killed = fileAfterKill(dataFile, "killed");
    expect(openSimulator({ ...shared, dataFile: killed }).clock.now()).toBe(simulator.clock.now());
  },
);

test("steps of scenarios at the same time run in their order, those of the scenario started first before the other's", async () => {
  const simulator = openSimulator({ clock: "manual" });
  const types = ["voicemail.created", "order.created", "booking.created"] as const;
  const mixed = ["order.created", "voicemail.created", "booking.created"];
  for (const [name, order] of [
    ["one", types],
    ["two", mixed],
  ] as const)
    add(simulator, { name, summary: "At once.", steps: order.map((type) => ({ type, after_seconds: 5 })) });
  for (const name of ["one", "two"]) expect(simulator.scenarios.begin(name)).toMatchObject({ ok: true });
  await simulator.clock.advance(5);
  const happened = simulator.events.page({ limit: 100 }).events.toReversed();
  const meant = happened.map(({ type }) => type).filter((type) => !type.startsWith("call."));
  expect(meant).toEqual([...types, ...mixed]);
  expect(new Set(happened.map(({ origin }) => origin))).toEqual(new Set(["world"]));
});

test("a scenario ends with its latest step, in any order of steps", () => {
  const simulator = openSimulator({ clock: "manual" });
  const nowMs = simulator.clock.now();
  const step = (afterSeconds: number, times: number, everySeconds: number) => ({
    after_seconds: afterSeconds,
    type: "call.completed",
    ...(times > 1 && { times, every_seconds: everySeconds }),
  });
  for (const [steps, count, seconds] of [
    [[step(0, 1, 0)], 1, 0],
    [[step(10, 3, 60), step(20, 1, 0)], 4, 130],
    [[step(500, 1, 0), step(20, 2, 30)], 3, 500],
  ] as const) {
    const scenario = { name: "mine", summary: "Mine.", steps: [...steps] };
    add(simulator, scenario);
    const story = { steps: count, endsAtMs: nowMs + seconds * 1_000 };
    expect(simulator.scenarios.begin("mine")).toMatchObject({ ok: true, begun: story });
  }
});

function add(simulator: Simulator, json: object): void {
  const parsed = parseScenario(json);
  if (!parsed.ok) throw new Error(parsed.message);
  expect(simulator.scenarios.add(parsed.scenario)).toEqual({ ok: true });
}

test.each([
  [0.4, 0],
  [0.5, 1],
  [12.6, 13],
  [9_999.6, 10_000],
])("an answer after %d ms is reported as %i", async (durationMs, shown) => {
  const send = () => Promise.resolve({ outcome: { status: 200 }, durationMs });
  const simulator = openSimulator({ clock: "manual", send });
  register(simulator, "http://localhost:9/");
  const id = emitOne(simulator);
  await simulator.settled();
  expect(simulator.deliveries.attempts(id)).toMatchObject([{ durationMs: shown }]);
});

test.each<[FaultName | undefined, number, string]>([
  [undefined, 200, "duplicate"],
  [undefined, 500, "honest"],
  ["drop-answer", 500, "duplicate"],
  ["time-out", 500, "duplicate"],
  ["bad-signature", 401, "honest"],
  ["reset-mid-body", 500, "honest"],
  ["slow-body", 500, "honest"],
])(
  "after a delivery with the fault %s that ended with %i, the same event is %s",
  async (name, first, meant) => {
    let status = first;
    const send = () => Promise.resolve({ outcome: { status }, durationMs: 1 });
    const simulator = openSimulator({ clock: "manual", send });
    register(simulator, "http://localhost:9/");
    const faults = name === undefined ? [] : [{ name }];
    const made = simulator.events.emit({ type: "call.completed", faults });
    const id = made.ok ? (made.emitted[0]?.deliveries[0]?.id ?? "") : "";
    await simulator.clock.run();
    status = 200;
    const again = resend(simulator, id);
    await simulator.settled();
    expect(simulator.deliveries.summary(again)?.verdict.meant).toBe(meant);
  },
);
