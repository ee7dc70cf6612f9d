// node:test, with nothing else installed: node --test node.test.mjs
import assert from "node:assert/strict";
import { after, afterEach, before, mock, test } from "node:test";
import { startSimulator } from "voice-agent-webhook-kit/simulator";
import { startReceiver } from "./receiver.cjs";

const secret = "whsec_of_our_tests";
const callBack = mock.fn();
let simulator;
let receiver;

before(async () => {
  receiver = await startReceiver({ secret, callBack });
  simulator = await startSimulator();
});

afterEach(async () => {
  callBack.mock.resetCalls();
  await simulator.reset();
});

after(async () => {
  await simulator.close();
  await receiver.close();
});

test("a customer who leaves a voicemail is called back", async () => {
  simulator.endpoints.add({ url: receiver.url, secret });

  const { deliveries } = await simulator.emit("voicemail.created", { object: { phone: "+12125550177" } });

  assert.partialDeepStrictEqual(deliveries, [{ state: "delivered", attempts: [{ httpStatus: 200 }] }]);
  assert.deepEqual(
    callBack.mock.calls.map((call) => call.arguments),
    [["+12125550177"]],
  );
});

test("when the phone system is down, the retry a minute later calls the customer", async () => {
  simulator.endpoints.add({ url: receiver.url, secret });
  callBack.mock.mockImplementationOnce(async () => {
    throw new Error("phone system down");
  });

  const { deliveries } = await simulator.emit("voicemail.created");
  assert.partialDeepStrictEqual(deliveries, [{ state: "attempting", attempts: [{ httpStatus: 500 }] }]);

  await simulator.clock.advance("1m");
  assert.equal(simulator.deliveries.list({ state: "delivered" }).length, 1);
  assert.equal(callBack.mock.callCount(), 2);
});
