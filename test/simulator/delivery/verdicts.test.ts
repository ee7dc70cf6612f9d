import { expect, test } from "vitest";
import type { Fault } from "../../../simulator/domain/faults.ts";
import type { SendResult } from "../../../simulator/domain/flights.ts";
import type { VerdictResult } from "../../../simulator/domain/shapes.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { openSimulator, register } from "../../helpers/simulator.ts";

type Outcome = SendResult["outcome"];

const INTERRUPTED: Outcome = { error: "interrupted" };

/** A simulator whose attempts end with these outcomes, one after another. */
function endingWith(outcomes: readonly Outcome[], fault?: Fault) {
  const left = [...outcomes];
  const simulator = openSimulator({
    clock: "manual",
    send: async () => ({ outcome: left.shift() ?? { status: 200 }, durationMs: 1 }),
  });
  register(simulator, "http://localhost:9/");
  simulator.events.emit({ type: "call.completed", faults: fault ? [fault] : [] });
  return simulator;
}

/** The stored verdicts, by which lists are filtered and counted. */
function kept(simulator: Simulator): VerdictResult[] {
  const counted = simulator.verdicts.counts().map(({ result }) => result);
  const [{ verdict: { cause } } = { verdict: { cause: null } }] = simulator.deliveries.page({
    limit: 1,
  }).deliveries;
  // The stored cause is that of the last failure.
  const ofCause = cause === null ? 1 : simulator.deliveries.page({ limit: 5, cause }).deliveries.length;
  expect(ofCause).toBe(1);
  for (const verdict of counted)
    expect(simulator.deliveries.page({ limit: 5, verdict }).deliveries).toMatchObject([
      { verdict: { result: verdict } },
    ]);
  return counted;
}

test.each<[string, Outcome[], VerdictResult[], Fault?]>([
  [
    "not, as long as it fails",
    [{ status: 500 }, { error: "refused" }, { status: 404 }],
    ["not", "not", "not"],
  ],
  ["ok, once it is acknowledged", [{ status: 500 }, { status: 302 }, { status: 200 }], ["not", "not", "ok"]],
  [
    "to wait, where we broke it off ourselves",
    [{ status: 500 }, INTERRUPTED, { status: 500 }],
    ["not", "waiting", "not"],
  ],
  [
    "to wait, where the next attempt is one that we spoil no more and break off",
    [{ status: 500 }, INTERRUPTED],
    ["ok", "waiting"],
    { name: "bad-signature", attempts: 1 },
  ],
  [
    "ok, where what was forged is refused, and not, where what was not is refused too",
    [{ status: 401 }, { status: 401 }, { status: 401 }],
    ["ok", "not", "not"],
    { name: "bad-signature", attempts: 1 },
  ],
])("a verdict that is kept is %s", async (_name, outcomes, expected, fault) => {
  const simulator = endingWith(outcomes, fault);
  const found: VerdictResult[] = [];
  for (const number of outcomes.keys()) {
    await (number === 0 ? simulator.settled() : simulator.clock.next());
    found.push(...kept(simulator));
  }
  expect(found).toEqual(expected);
});

test("a verdict can change until the sixth failure, and after it", async () => {
  const simulator = endingWith(Array.from({ length: 6 }, () => ({ status: 503 })));
  await simulator.clock.run();
  expect(kept(simulator)).toEqual(["not"]);
  expect(simulator.deliveries.page({ limit: 1, state: "dead" }).deliveries).toHaveLength(1);
});

test("states are counted for all purposes, and verdicts for all types", async () => {
  const simulator = endingWith([]);
  simulator.events.emit({ type: "call.completed" });
  simulator.events.emit({ type: "call.completed", faults: [{ name: "unknown-fields" }] });
  simulator.events.emit({ type: "order.created" });
  await simulator.settled();
  expect(simulator.verdicts.counts()).toMatchObject([
    { meant: "honest", result: "ok", count: 3 },
    { meant: "unfamiliar", result: "ok", count: 1 },
  ]);
  expect(simulator.counts.deliveries().byState).toEqual({ attempting: 0, delivered: 4, dead: 0 });
  expect(await simulator.deliveries.count({ type: "call.completed" })).toMatchObject({ total: 3 });
});
