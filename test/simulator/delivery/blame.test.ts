import { describe, expect, test } from "vitest";
import { verify } from "../../../shared/signature.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { parseFault } from "../../../simulator/domain/faults.ts";
import type { Readings } from "../../../simulator/domain/readings.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { startService } from "../../helpers/service.ts";
import { answering, openSimulator, readingsWith, register } from "../../helpers/simulator.ts";

const send = answering(500);

/** Six attempts that all fail, the first `attempts` of them with an injected fault. */
async function failSixTimes(attempts: number, readings: Partial<Readings> = {}) {
  const simulator = openSimulator({ clock: "skip", readings: readingsWith(readings), send });
  const { id } = register(simulator, "http://localhost:9/");
  const faults = attempts === 0 ? [] : [{ name: "bad-signature", attempts } as const];
  simulator.events.emit({ type: "call.completed", faults });
  await simulator.settled();
  return simulator.endpoints.find(id);
}

describe("the failure flag", () => {
  test.each([0, 3, 6])("counts all six failures, %i of which we caused", async (attempts) => {
    expect(await failSixTimes(attempts)).toMatchObject({ consecutiveFailures: 6, flagged: true });
  });

  test("counts one failure if deliveries are counted, even if we caused all of it", async () => {
    expect(await failSixTimes(6, { flag_counts: "deliveries" })).toMatchObject({ consecutiveFailures: 1 });
  });
});

describe("injected faults", () => {
  test("tampered-body changes a signed value in every body: replayed, reserialised, of any version", async () => {
    const endpoint = await startEndpoint((response, count) =>
      response.writeHead(count < 3 ? 500 : 200).end(),
    );
    const readings = readingsWith({ retry_body: "reserialized" });
    const simulator = openSimulator({ clock: "skip", readings });
    const { secret } = register(simulator, endpoint.url);
    const faults = [{ name: "tampered-body" } as const];
    for (const version of ["v1", "v2", "2031-01"]) {
      const envelope = { ...sampleEnvelope("call.completed"), api_version: version };
      simulator.events.replay([envelope], { newIds: true, faults });
      await simulator.settled();
    }
    expect(endpoint.received).toHaveLength(5);
    for (const { body, signature, t } of endpoint.received) {
      expect(JSON.parse(body.toString())).toMatchObject({ type: "call.completed" });
      const verification = verify({ headers: [signature], body, secrets: [secret], nowSeconds: t });
      expect(verification).toMatchObject({ ok: false, reason: "no_match" });
    }
  });

  test("that changed the bytes still count when these bytes are resent, and others do not", async () => {
    const simulator = openSimulator({ clock: "manual", send });
    register(simulator, "http://localhost:9/");
    const faults = ["unknown-fields", "bad-signature", "duplicate"].flatMap((text) => {
      const parsed = parseFault(text);
      return parsed.ok ? [parsed.fault] : [];
    });
    simulator.events.emit({ type: "call.completed", faults });
    const [delivery] = simulator.deliveries.page({ limit: 1 }).deliveries;
    simulator.deliveries.resend(delivery?.id ?? "");
    await simulator.settled();
    const [again] = simulator.deliveries.page({ limit: 1 }).deliveries;
    expect(again).toMatchObject({
      resendOf: delivery?.id,
      faults: ["unknown-fields"],
      attempts: [{ injected: [{ name: "unknown-fields" }], blame: "simulator" }],
    });
  });

  test("minimal-objects does not count as a fault where it changes nothing", () => {
    const simulator = openSimulator();
    register(simulator, "http://localhost:9/");
    const faults = [{ name: "minimal-objects" } as const];
    for (const type of ["call.completed", "booking.created"] as const)
      simulator.events.emit({ type, faults });
    const { deliveries } = simulator.deliveries.page({ limit: 2 });
    expect(deliveries.map(({ eventType, faults: own }) => [eventType, own.length])).toEqual([
      ["booking.created", 1],
      ["call.completed", 0],
    ]);
  });
});

test("a failed attempt is ours only where the fault was in it: not after the attempts that it was asked for", async () => {
  const { ask, simulator } = await startService({ send, clock: "manual" });
  register(simulator, "http://localhost:9/");
  const faults = ["stale-timestamp:2", "unknown-fields", "duplicate"];
  await ask("POST", "/events", { type: "call.completed", faults });
  await simulator.clock.advance(600);
  const { body } = await ask("GET", "/deliveries");
  const attempts = body.data?.[0]?.attempts ?? [];
  expect(attempts.every(({ blame }) => blame === "simulator")).toBe(true);
  expect(attempts.map((attempt) => attempt["fault"])).toEqual([
    "stale-timestamp:2, unknown-fields",
    "stale-timestamp:2, unknown-fields",
    "unknown-fields",
  ]);
});
