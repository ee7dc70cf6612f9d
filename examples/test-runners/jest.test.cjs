// jest with CommonJS: npx jest jest.test.cjs
const { startSimulator } = require("voice-agent-webhook-kit/simulator");
const { startReceiver } = require("./receiver.cjs");

const secret = "whsec_of_our_tests";
const callBack = jest.fn();
let simulator;
let receiver;

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
  callBack.mockReset().mockResolvedValue(undefined);

  const { deliveries } = await simulator.emit("voicemail.created", { object: { phone: "+12125550177" } });

  expect(deliveries).toMatchObject([{ state: "delivered", attempts: [{ httpStatus: 200 }] }]);
  expect(callBack.mock.calls).toEqual([["+12125550177"]]);
});

test("when the phone system is down, the retry a minute later calls the customer", async () => {
  simulator.endpoints.add({ url: receiver.url, secret });
  callBack.mockReset().mockRejectedValueOnce(new Error("phone system down")).mockResolvedValue(undefined);

  const { deliveries } = await simulator.emit("voicemail.created");
  expect(deliveries).toMatchObject([{ state: "attempting", attempts: [{ httpStatus: 500 }] }]);

  await simulator.clock.advance("1m");
  expect(simulator.deliveries.list({ state: "delivered" })).toHaveLength(1);
  expect(callBack).toHaveBeenCalledTimes(2);
});
