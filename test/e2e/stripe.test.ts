import { join } from "node:path";
import { Stripe } from "stripe";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { startEndpoint } from "../helpers/endpoint.ts";
import { startProcess } from "../receiver/helpers/process.ts";
import { emit, openSimulator, readingsWith, register, temporaryDirectory } from "../helpers/simulator.ts";

const { webhooks } = new Stripe("sk_test_0");
const SECRET = "whsec_for_both_sides";

// An independent implementation of the same signature: our two programs could share a mistake.
describe("stripe's library", () => {
  test.each([
    readingsWith({}),
    readingsWith({ retry_body: "reserialized", signature_extra_keys: "present" }),
  ])("accepts every attempt that the simulator puts on the wire (%#)", async (readings) => {
    const endpoint = await startEndpoint(500);
    const simulator = openSimulator({ clock: "skip", readings });
    register(simulator, endpoint.url, { secret: SECRET });
    for (const type of EVENT_TYPES) emit(simulator, type);
    await simulator.settled();
    expect(endpoint.received).toHaveLength(6 * EVENT_TYPES.length);
    for (const { body, signature } of endpoint.received) {
      expect(webhooks.constructEvent(body, signature, SECRET)).toEqual(JSON.parse(body.toString()));
      expect(() => webhooks.constructEvent(body, signature, "whsec_other")).toThrow(/No signatures found/);
    }
  });

  test("makes headers that the receiver accepts over HTTP", async () => {
    const receiver = await startProcess({
      environment: {
        SIGNING_SECRET: SECRET,
        DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
      },
    });
    const send = async (secret: string) =>
      fetch(receiver.url, {
        method: "POST",
        headers: { "x-service-signature": webhooks.generateTestHeaderString({ payload, secret }) },
        body: payload,
      });
    const payload = JSON.stringify(sampleEnvelope("voicemail.created"));
    const answer = await send(SECRET);
    expect([answer.status, await answer.json()]).toEqual([200, { received: true, duplicate: false }]);
    expect((await send("whsec_other")).status).toBe(401);
  });
});
