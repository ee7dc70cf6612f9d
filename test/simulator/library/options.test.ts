import { expect, onTestFinished, test } from "vitest";
import { startSimulator, type StartOptions } from "../../../simulator/index.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { freePort } from "../../helpers/free-port.ts";

/** What each option of `startSimulator` does, and its default. */

async function start(options: StartOptions = {}) {
  const simulator = await startSimulator({ calls: 0, ...options });
  onTestFinished(() => simulator.close());
  return simulator;
}

test("an endpoint has the given time to answer, and is retried when the clock is moved", async () => {
  const receiver = await startEndpoint((response, count) => {
    if (count > 1) response.writeHead(200).end();
  });
  const simulator = await start({ answerTimeoutMs: 300 });
  simulator.endpoints.add({ url: receiver.url });
  const [delivery] = (await simulator.emit("call.completed")).deliveries;
  const [attempt] = delivery?.attempts ?? [];
  expect(attempt).toMatchObject({ error: "timeout", httpStatus: null, answer: null });
  expect(attempt?.durationMs).toBeGreaterThanOrEqual(295);
  expect(attempt?.durationMs).toBeLessThan(5_000);
  // No retry is made until the clock is moved.
  expect([simulator.clock.mode(), delivery?.state, receiver.received.length]).toEqual([
    "manual",
    "attempting",
    1,
  ]);
  await simulator.clock.advance(60);
  expect(simulator.deliveries.get(delivery?.id ?? "")).toMatchObject({ state: "delivered" });
});

test("the options set the world's size, port, readings, faults and hosts", async () => {
  const port = await freePort();
  const simulator = await start({
    port,
    seed: 11,
    calls: 40,
    readings: { agents_has_more: "present" },
    faults: ["duplicate"],
    allowedHosts: ["receiver.test"],
  });
  expect([simulator.url, simulator.seed]).toEqual([`http://127.0.0.1:${port}`, 11]);
  const organizations = simulator.organizations();
  const asked = async (path: string, apiKey: string) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const answer = await fetch(`${simulator.url}/api/v1/${path}`, { headers });
    return (await answer.json()) as {
      data: unknown[];
      has_more: boolean;
      id: string;
      name: string;
      industry: string;
    };
  };
  const counts = await Promise.all(
    organizations.map(async ({ apiKey, id, name, industry }) => {
      expect(await asked("me", apiKey)).toMatchObject({ id, name, industry });
      return (await asked("calls?limit=100", apiKey)).data.length;
    }),
  );
  expect(counts).toEqual([20, 20]);
  expect(await asked("agents", organizations[0]?.apiKey ?? "")).toMatchObject({ has_more: false });
  expect(simulator.endpoints.add({ url: "http://receiver.test/in" }).url).toBe("http://receiver.test/in");
  const { deliveries } = await simulator.emit("call.completed");
  expect(deliveries.map(({ faults }) => faults)).toEqual([["duplicate"], ["duplicate"]]);

  const plain = await start();
  expect(plain.url).not.toBe(simulator.url);
  expect(() => plain.endpoints.add({ url: "http://receiver.test/in" })).toThrow(
    "http:// is for localhost only",
  );
  plain.endpoints.add({ url: "http://localhost:9/" });
  expect((await plain.emit("call.completed")).deliveries).toHaveLength(1);
});

test("emit makes the given number of events in its organization, with its fields and faults", async () => {
  const receiver = await startEndpoint();
  const simulator = await start();
  simulator.endpoints.add({ url: receiver.url });
  const orgId = simulator.organizations()[1]?.id ?? "";
  const object = { duration_sec: 77 };
  const { events, deliveries } = await simulator.emit("call.completed", {
    object,
    orgId,
    count: 3,
    faults: ["unknown-fields"],
  });
  expect(events).toHaveLength(3);
  for (const event of events) expect(event).toMatchObject({ org_id: orgId, data: { object } });
  expect(deliveries.map(({ eventId, faults, state }) => [eventId, faults, state])).toEqual(
    events.map(({ id }) => [id, ["unknown-fields"], "delivered"]),
  );
  const [other] = (await simulator.emit("call.completed")).deliveries;
  expect(other?.faults).toEqual([]);
});
