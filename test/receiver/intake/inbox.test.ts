import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { Stored } from "../../../receiver/intake/inbox.ts";
import { createInbox, type Delivery } from "../../../receiver/intake/inbox.ts";
import type { NewEvent } from "../../../receiver/store/port.ts";
import { idOf, newBody, SECRET, signatureFor } from "../helpers/events.ts";

const NEW: Stored = { ok: true, acceptance: { duplicate: false } };

/** Delivers a body, and returns its result and what was to be stored. */
async function bring(
  body: Buffer,
  { stored = NEW, nowMs, ...changes }: Partial<Delivery> & { stored?: Stored; nowMs?: number } = {},
) {
  const events: NewEvent[] = [];
  const store = async (event: NewEvent): Promise<Stored> => {
    events.push(event);
    return stored;
  };
  const clock = { ...systemClock, ...(nowMs !== undefined && { nowMs: () => nowMs }) };
  const inbox = createInbox({ secrets: ["another", SECRET], clock, store });
  return { receipt: await inbox({ signatures: [signatureFor(body)], body, ...changes }), events };
}

const T = 1_800_000_000;

test.each([
  [-300.001, "invalid_signature"],
  [-299.999, "stored"],
  [300.999, "stored"],
  [301, "invalid_signature"],
])("whole seconds count: what was signed at t is judged %d s later as %s", async (seconds, kind) => {
  const body = newBody();
  const signatures = [signatureFor(body, { timestampSeconds: T })];
  expect((await bring(body, { signatures, nowMs: (T + seconds) * 1_000 })).receipt.kind).toBe(kind);
});

test.each<[unknown, string | null]>([
  [{ object: { id: "x".repeat(256) } }, "x".repeat(256)],
  [{ object: { id: "x".repeat(257) } }, null],
  [{ object: { id: "" } }, null],
  [{ object: { id: 7 } }, null],
  [{ object: "call_1" }, null],
  [undefined, null],
])("of the data %j the object is known as %o, and the rest is stored as it came", async (data, objectId) => {
  const body = newBody("call.completed", { data, type: "made.up" });
  const { receipt, events } = await bring(body);
  const envelope: unknown = JSON.parse(body.toString());
  expect(events).toEqual([{ id: idOf(body), type: "made.up", objectId, source: "webhook", body, envelope }]);
  expect(receipt).toEqual({ kind: "stored", id: idOf(body), type: "made.up", secretIndex: 1 });
});

const differs = { storedSha256: "aa", receivedSha256: "bb" };

test.each<[Stored, object]>([
  [
    { ok: true, acceptance: { duplicate: true, differs } },
    { kind: "duplicate", differs, type: "order.created", secretIndex: 1 },
  ],
  [
    { ok: false, reason: "full", detail: "no room" },
    { kind: "unavailable", reason: "full", detail: "no room" },
  ],
])("the store's result %j is returned as %j", async (stored, expected) => {
  const { receipt } = await bring(newBody("order.created"), { stored });
  expect(receipt).toMatchObject(expected);
});

test("an unsigned body is neither parsed nor stored", async () => {
  const { receipt, events } = await bring(Buffer.from("{"), { signatures: ["t=1,v1=0"] });
  expect([receipt.kind, events]).toEqual(["invalid_signature", []]);
  const message: unknown = expect.stringMatching(/^The body is not an event: it: /);
  expect((await bring(Buffer.from("[]"))).receipt).toEqual({ kind: "invalid_event", message });
});
