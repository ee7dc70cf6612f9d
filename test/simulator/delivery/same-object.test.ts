import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type EventType, EVENT_TYPES, eventSchema } from "../../../shared/events.ts";
import { listen } from "../../../simulator/service/server.ts";
import type { Simulator } from "../../../simulator/verbs/simulator.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { openSimulator, readingsWith, register, temporaryDirectory } from "../../helpers/simulator.ts";

type Envelope = { org_id: string; data: { object: Record<string, unknown> } };

/** Serves `simulator`; returns a function that fetches an object's exact text from its REST API. */
async function serveApi(simulator: Simulator) {
  const listening = await listen(simulator, {
    port: 0,
    host: "127.0.0.1",
    onError: (error) => {
      throw error;
    },
  });
  if (!listening.ok) throw new Error(listening.message);
  const { server } = listening;
  onTestFinished(() => server.close());
  return {
    close: () => server.close(),
    /** The exact text of the object in its page of the list. */
    async textOf(envelope: Envelope): Promise<string> {
      const kind = envelope.data.object["object"] === "voicemail" ? "voicemails" : "calls";
      const key = simulator.world
        .organizations()
        .find(({ organization }) => organization.id === envelope.org_id)?.apiKey;
      const response = await fetch(`${server.url}/api/v1/${kind}?limit=100`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const text = await response.text();
      const { data } = JSON.parse(text) as { data: Record<string, unknown>[] };
      const found = data.find(({ id }) => id === envelope.data.object["id"]);
      const written = JSON.stringify(found);
      expect(text).toContain(written);
      return written;
    },
  };
}

/** The exact text of `data.object` in a body. */
function objectText(body: Buffer): string {
  const text = body.toString();
  const { data } = JSON.parse(text) as Envelope;
  const written = JSON.stringify(data.object);
  expect(text).toContain(`"data":{"object":${written}}`);
  return written;
}

const IN_REST: EventType[] = ["call.completed", "call.transferred", "voicemail.created"];

const OVERRIDES: Record<string, unknown>[] = [
  {},
  { phone: "+12125550199", created_at: "2026-01-02T03:04:05Z" },
  { added_later: { nested: [1, null, "é ẞ 🎉", { deep: true }] }, notes: 'line\nbreak \u2028 "quotes"' },
  { duration_sec: 0, reviewed: true, callback_made: true },
  { id: "call_mine_0001" },
  { transfer_to: null, transfer_succeeded: null, transcript: "" },
];

describe("what a webhook carries", () => {
  test.each(IN_REST)("equals what REST answers, character by character: %s", async (type) => {
    for (const object of OVERRIDES) {
      const endpoint = await startEndpoint();
      const simulator = openSimulator({ clock: "skip", calls: 10 });
      const api = await serveApi(simulator);
      register(simulator, endpoint.url);
      const own = type === "voicemail.created" && "id" in object ? { id: "vm_mine_0001" } : object;
      // As in a scenario, with unpublished fields.
      const result = simulator.events.live({ type, object: own });
      expect(result).toMatchObject({ ok: true });
      await simulator.settled();
      const received = endpoint.received.find(({ body }) => body.includes(`"type":"${type}"`));
      const envelope = JSON.parse(received?.body.toString() ?? "") as Envelope;
      expect(envelope.data.object).toMatchObject(own);
      expect(objectText(received?.body ?? Buffer.alloc(0))).toBe(await api.textOf(envelope));
      await api.close();
      await simulator.close();
    }
  });

  test("still equals it after a restart, on another port and with other readings", async () => {
    const endpoint = await startEndpoint();
    const dataFile = join(temporaryDirectory(), "simulator.db");
    const first = openSimulator({ clock: "skip", calls: 10, dataFile });
    const firstApi = await serveApi(first);
    register(first, endpoint.url);
    for (const type of IN_REST) first.events.emit({ type });
    await first.settled();
    await firstApi.close();
    await first.close();

    const readings = readingsWith({ transfer_to_form: "object", transfer_succeeded_form: "string" });
    const second = openSimulator({ clock: "skip", calls: 10, dataFile, readings });
    const api = await serveApi(second);
    expect(endpoint.received).toHaveLength(3);
    for (const { body } of endpoint.received) {
      expect(objectText(body)).toBe(await api.textOf(JSON.parse(body.toString()) as Envelope));
    }
  });

  test("equals it for both events of one call, and for the call of a voicemail", async () => {
    const endpoint = await startEndpoint();
    const simulator = openSimulator({ clock: "skip", calls: 10 });
    const api = await serveApi(simulator);
    register(simulator, endpoint.url);
    for (const type of EVENT_TYPES) simulator.events.live({ type });
    await simulator.settled();
    const envelopes = endpoint.received.map(({ body }) => ({
      body,
      envelope: JSON.parse(body.toString()) as Envelope & { type: string },
    }));
    const inRest = envelopes.filter(({ envelope }) => IN_REST.some((type) => type === envelope.type));
    // call.completed alone, and with each of the other four; call.transferred; voicemail.created.
    expect(inRest).toHaveLength(7);
    for (const { body, envelope } of inRest) expect(objectText(body)).toBe(await api.textOf(envelope));
  });

  test.each([
    readingsWith({}),
    readingsWith({ transfer_to_form: "object", transfer_succeeded_form: "string" }),
    readingsWith({ order_and_booking_shape: "minimal" }),
  ])("is of the shape that the specification states, under every reading (%#)", async (readings) => {
    const endpoint = await startEndpoint();
    const simulator = openSimulator({ clock: "skip", readings });
    register(simulator, endpoint.url);
    for (const type of EVENT_TYPES) simulator.events.emit({ type });
    await simulator.settled();
    const types = endpoint.received.map(({ body }) => {
      const { type } = JSON.parse(body.toString()) as { type: EventType };
      expect(eventSchema(type).safeParse(JSON.parse(body.toString()))).toMatchObject({ success: true });
      return type;
    });
    expect(new Set(types)).toEqual(new Set(EVENT_TYPES));
  });
});
