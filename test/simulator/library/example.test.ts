import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { startSimulator, type RunningSimulator } from "../../../simulator/index.ts";
import { startReceiver } from "./example-receiver.ts";

const secret = "whsec_of_our_tests";
const callBack = vi.fn<(phone: string) => Promise<void>>();
let simulator: RunningSimulator;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  receiver = await startReceiver({ secret, callBack });
  simulator = await startSimulator();
});

afterEach(() => simulator.reset());

afterAll(async () => {
  await simulator.close();
  await receiver.close();
});

test("a customer who leaves a voicemail is called back", async () => {
  simulator.endpoints.add({ url: receiver.url, secret });
  callBack.mockResolvedValueOnce();

  const { deliveries } = await simulator.emit("voicemail.created", { object: { phone: "+12125550177" } });

  expect(deliveries).toMatchObject([{ state: "delivered", attempts: [{ httpStatus: 200 }] }]);
  expect(callBack.mock.calls).toEqual([["+12125550177"]]);
});

test("when the phone system is down, the retry a minute later calls the customer", async () => {
  simulator.endpoints.add({ url: receiver.url, secret });
  callBack.mockReset().mockRejectedValueOnce(new Error("phone system down")).mockResolvedValueOnce();

  const [delivery] = (await simulator.emit("voicemail.created")).deliveries;
  expect(delivery).toMatchObject({ state: "attempting", attempts: [{ httpStatus: 500 }] });

  await simulator.clock.advance("1m");
  expect(simulator.deliveries.list({ state: "delivered" })).toHaveLength(1);
  expect(callBack).toHaveBeenCalledTimes(2);
});

test("a customer is called back once, even when our answer is lost and the event comes again", async () => {
  simulator.endpoints.add({ url: receiver.url, secret, faults: ["drop-answer:1"] });
  callBack.mockReset().mockResolvedValue();

  await simulator.emit("voicemail.created");
  await simulator.clock.run();

  const [delivery] = simulator.deliveries.list();
  expect(delivery?.attempts.map(({ error, httpStatus }) => error ?? httpStatus)).toEqual(["closed", 200]);
  expect(callBack).toHaveBeenCalledTimes(1);
});
