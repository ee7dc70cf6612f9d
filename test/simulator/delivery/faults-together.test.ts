import { describe, expect, test } from "vitest";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { FAULTS, injectedFaults, type FaultName } from "../../../simulator/domain/faults.ts";
import type { SendRequest } from "../../../simulator/domain/flights.ts";
import { deliveryOf, emit, openSimulator, register, resend } from "../../helpers/simulator.ts";

/** Two faults at once: each does what it does alone. */

function subsets<Name>(names: readonly Name[]): Name[][] {
  return names.reduce<Name[][]>((found, name) => [...found, ...found.map((set) => [...set, name])], [[]]);
}

function open(faults: readonly FaultName[]) {
  const sent: SendRequest[] = [];
  const simulator = openSimulator({
    clock: "manual",
    send: async (request) => {
      sent.push(request);
      return { outcome: { status: 200 }, durationMs: 1 };
    },
  });
  register(simulator, "http://localhost:9/", { faults: faults.map((name) => ({ name })) });
  return { simulator, sent };
}

describe("of faults that decide how often and when an event goes out", () => {
  const together = subsets<FaultName>(["delay", "duplicate", "duplicate-concurrently"]);

  test.each(together.map((faults) => ({ faults })))("each has its say: $faults", ({ faults }) => {
    const { simulator } = open(faults);
    const nowMs = simulator.clock.now();
    const deliveries = emit(simulator).map((id) => deliveryOf(simulator, id));
    const due = deliveries.map(({ nextAttemptAtMs }) => (nextAttemptAtMs ?? 0) - nowMs);
    const firstMs = faults.includes("delay") ? 30_000 : 0;
    const expected = [
      firstMs,
      ...(faults.includes("duplicate-concurrently") ? [firstMs] : []),
      ...(faults.includes("duplicate") ? [firstMs + 1_000] : []),
    ];
    expect(due.toSorted((a, b) => a - b)).toEqual(expected);
    // Whenever they go out, they were made when the event was.
    expect(deliveries.map(({ createdAtMs }) => createdAtMs)).toEqual(due.map(() => nowMs));
  });

  test("what is delayed is overtaken from then on: delay, reorder and duplicate", () => {
    const { simulator } = open(["delay", "reorder", "duplicate"]);
    const nowMs = simulator.clock.now();
    const due = emit(simulator, "call.completed", 20).map(
      (id) => (deliveryOf(simulator, id).nextAttemptAtMs ?? 0) - nowMs,
    );
    const firsts = due.filter((_, index) => index % 2 === 0);
    expect(Math.min(...firsts)).toBeGreaterThanOrEqual(30_000);
    expect(Math.max(...firsts)).toBeLessThanOrEqual(35_000);
    expect(new Set(firsts).size).toBeGreaterThan(1);
    expect(due.filter((_, index) => index % 2 === 1)).toEqual(firsts.map((ms) => ms + 1_000));
  });
});

type Body = {
  type: string;
  api_version: string;
  livemode?: boolean;
  data: { object: Record<string, unknown> };
};

/** What of a body each fault is known by. */
const KNOWN_BY: Partial<Record<FaultName, (body: Body) => boolean>> = {
  "unknown-type": ({ type }) => type === "call.summarized",
  "next-version": ({ api_version: version }) => version === "v2",
  "unknown-fields": ({ livemode }) => livemode === false,
  "minimal-objects": ({ data }) => data.object["id"] === undefined,
  "large-event": ({ data }) => typeof data.object["added_text"] === "string",
};
/** A minimal object has no room for a large text: nothing but its kind is left. */
const SHUT_OUT: readonly string[] = ["large-event", "minimal-objects"];

describe("of faults that change the body", () => {
  const names = Object.keys(KNOWN_BY) as FaultName[];
  const pairs = subsets(names).filter(
    (set) => set.length <= 2 && !SHUT_OUT.every((name) => set.includes(name as FaultName)),
  );

  test.each(pairs.map((faults) => ({ faults })))("both do, and no other: $faults", async ({ faults }) => {
    const { simulator, sent } = open(faults);
    const [id = ""] = emit(simulator, "order.created");
    await simulator.settled();
    // Sent again, it is what it was.
    resend(simulator, id);
    await simulator.settled();
    const bodies = sent.map(({ body }) => body.toString());
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toBe(bodies[0]);
    const body = JSON.parse(bodies[0] ?? "") as Body;
    const known = names.filter((name) => KNOWN_BY[name]?.(body));
    expect(known.toSorted()).toEqual(faults.toSorted());
  });
});

/** On attempt 1, 2 and 6: bytes that are changed are those of every attempt; how often an event goes out changes none. */
const STRIKES: Record<string, boolean[]> = {
  body: [true, true, true],
  "fan-out": [false, false, false],
  signature: [true, false, false],
  wire: [true, false, false],
};

test.each(Object.entries(FAULTS))(
  "a fault of the first attempt alone, %s, strikes by what it changes",
  (name, { at }) => {
    const faults = [{ name: name as FaultName, attempts: 1 }];
    const strikes = [1, 2, 6].map((attempt) => injectedFaults(faults, attempt).length === 1);
    expect(strikes).toEqual(STRIKES[at]);
  },
);

test("what was sent again and again says each time which delivery it was sent again for", async () => {
  const { simulator } = open([]);
  const [first = ""] = emit(simulator);
  const second = resend(simulator, first);
  const third = resend(simulator, second);
  expect([first, second, third].map((id) => deliveryOf(simulator, id).resendOf)).toEqual([
    null,
    first,
    second,
  ]);
});

test("after a lost answer the same event is a duplicate to its receiver, and not after a refusal", async () => {
  const meantOf = async (error: "closed" | null) => {
    const outcome = error === null ? { status: 401 } : { error };
    const simulator = openSimulator({ clock: "manual", send: async () => ({ outcome, durationMs: 1 }) });
    register(simulator, "http://localhost:9/", {
      faults: [
        error === null ? { name: "bad-signature", attempts: 1 } : { name: "drop-answer", attempts: 1 },
      ],
    });
    const [first = ""] = emit(simulator);
    await simulator.settled();
    const again = resend(simulator, first);
    await simulator.settled();
    return simulator.deliveries.summary(again)?.verdict.meant;
  };
  expect([await meantOf("closed"), await meantOf(null)]).toEqual(["duplicate", "honest"]);
});

/** Where a fault may come from: from the whole service, from an endpoint, and from what sets an event off. */
const SOURCES = { service: "drop-answer", endpoint: "slow-body", event: "reset-mid-body" } as const;
type From = keyof typeof SOURCES;
const all = subsets(Object.keys(SOURCES) as From[]);

describe.each(all)("faults from %s, %s, %s", (...from) => {
  const of = (one: From) => (from.includes(one) ? [{ name: SOURCES[one] }] : []);
  const withEndpoints = () => {
    const simulator = openSimulator({ clock: "manual", faults: of("service") });
    const [chosen] = [9, 10].map((port) =>
      register(simulator, `http://localhost:${port}/`, { faults: of("endpoint") }),
    );
    return { simulator, chosen };
  };
  const faultsOf = (simulator: ReturnType<typeof openSimulator>, deliveries: { id: string }[]) =>
    deliveries.map(({ id }) =>
      deliveryOf(simulator, id)
        .faults.map(({ name }) => name)
        .toSorted(),
    );
  const expected = from.map((one) => SOURCES[one]).toSorted();

  test("come together where an event is set off", () => {
    const { simulator } = withEndpoints();
    const result = simulator.events.emit({ type: "call.completed", faults: of("event") });
    const deliveries = result.ok ? result.emitted.flatMap((one) => one.deliveries) : [];
    expect(faultsOf(simulator, deliveries)).toEqual([expected, expected]);
  });

  test.each([
    { newIds: false, isOne: false },
    { newIds: true, isOne: false },
    { newIds: false, isOne: true },
    { newIds: true, isOne: true },
  ])("come together where one is replayed, as it is asked for: %o", ({ newIds, isOne }) => {
    const { simulator, chosen } = withEndpoints();
    const envelope = sampleEnvelope("order.created");
    const endpointId = isOne ? chosen?.id : undefined;
    const result = simulator.events.replay([envelope], { newIds, endpointId, faults: of("event") });
    const emitted = result.ok ? result.emitted : [];
    expect(emitted.map(({ event }) => event.id === envelope.id)).toEqual([!newIds]);
    const deliveries = emitted.flatMap((one) => one.deliveries);
    expect(faultsOf(simulator, deliveries)).toEqual(isOne ? [expected] : [expected, expected]);
  });
});
