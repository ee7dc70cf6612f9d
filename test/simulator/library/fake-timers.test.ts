import { expect, onTestFinished, test, vi } from "vitest";
import { startSimulator } from "../../../simulator/index.ts";
import { start } from "../../../simulator/library/start.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";

const EVERYTHING = [
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "setImmediate",
  "clearImmediate",
  "performance",
] as const;

test("a Date of another context sets the time of signatures, as in a test file of jest", async () => {
  const receiver = await startEndpoint();
  const simulator = await start({ calls: 0 }, () => 1_700_000_000_999);
  onTestFinished(() => simulator.close());
  simulator.endpoints.add({ url: receiver.url });
  const { deliveries } = await simulator.emit("order.created");
  expect(deliveries).toMatchObject([{ attempts: [{ signatureTimestamp: 1_700_000_000 }] }]);
  expect(receiver.received[0]?.t).toBe(1_700_000_000);
});

test.each([
  ["all that stands still by default", {}],
  ["timers and clocks, but not the date", { toFake: [...EVERYTHING] }],
])("under the fake timers of a test (%s) it delivers, retries and closes as usual", async (_, config) => {
  const receiver = await startEndpoint((response, count) =>
    response.writeHead(count === 1 ? 500 : 200).end(),
  );
  const simulator = await startSimulator({ calls: 0 });
  onTestFinished(() => simulator.close());
  vi.useFakeTimers(config);
  onTestFinished(() => void vi.useRealTimers());

  simulator.endpoints.add({ url: receiver.url });
  const { deliveries } = await simulator.emit("order.created");
  expect(deliveries).toMatchObject([{ state: "attempting", attempts: [{ httpStatus: 500 }] }]);
  await simulator.clock.advance("1m");
  expect(simulator.deliveries.list({ state: "delivered" })).toHaveLength(1);
  await simulator.reset();

  const another = await startSimulator({ calls: 0, clock: "skip" });
  another.endpoints.add({ url: receiver.url });
  expect((await another.emit("call.completed")).deliveries).toMatchObject([{ state: "delivered" }]);
  await another.close();
});
