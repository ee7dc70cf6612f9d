import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import type { NewEvent } from "../../../receiver/store/port.ts";
import type { Stored } from "../../../receiver/intake/group-commit.ts";
import { createInbox, type Delivery } from "../../../receiver/intake/inbox.ts";
import { idOf, newBody, SECRET, signatureFor } from "../helpers/events.ts";

const T = 1_800_000_000;

/** Seconds of the receiver's clock after `t`, with their fraction: its whole seconds are what counts. */
test.each([
  [-301, "invalid_signature"],
  [-300.001, "invalid_signature"],
  [-300, "stored"],
  [-299.999, "stored"],
  [0.5, "stored"],
  [300, "stored"],
  [300.5, "stored"],
  [300.999, "stored"],
  [301, "invalid_signature"],
])("what was signed at t is judged %d s later as %s", async (seconds, kind) => {
  const inbox = createInbox({
    secrets: [SECRET],
    clock: { ...systemClock, nowMs: () => T * 1_000 + seconds * 1_000 },
    store: async () => ({ ok: true, acceptance: { duplicate: false } }),
  });
  const body = newBody();
  const receipt = await inbox({
    signatures: [signatureFor(body, { timestampSeconds: T })],
    body,
  });
  expect(receipt.kind).toBe(kind);
});

const NEW: Stored = { ok: true, acceptance: { duplicate: false } };

/** Brings a signed body, and tells what came of it and what was to be stored. */
async function bring(
  body: Buffer,
  { stored = NEW, ...changes }: Partial<Delivery> & { stored?: Stored } = {},
) {
  const events: NewEvent[] = [];
  const inbox = createInbox({
    secrets: ["another", SECRET],
    clock: systemClock,
    store: async (event) => {
      events.push(event);
      return stored;
    },
  });
  const receipt = await inbox({ signatures: [signatureFor(body)], body, ...changes });
  return { receipt, events };
}

test.each<[unknown, string | null]>([
  [{ object: { id: "call_1" } }, "call_1"],
  [{ object: { id: "x".repeat(256) } }, "x".repeat(256)],
  [{ object: { id: "x".repeat(257) } }, null],
  [{ object: { id: "" } }, null],
  [{ object: { id: 7 } }, null],
  [{ object: { id: null } }, null],
  [{ object: "call_1" }, null],
  [{ id: "call_1" }, null],
  ["call_1", null],
  [undefined, null],
])("of the data %j the object is known as %o, and the rest is stored as it came", async (data, objectId) => {
  const body = newBody("call.completed", { data, type: "made.up" });
  const { receipt, events } = await bring(body);
  const envelope: unknown = JSON.parse(body.toString());
  const stored = { id: idOf(body), type: "made.up", objectId, source: "webhook", body, envelope };
  expect(events).toEqual([stored]);
  expect(receipt).toEqual({ kind: "stored", id: idOf(body), type: "made.up", secretIndex: 1 });
});

const differs = { storedSha256: "aa", receivedSha256: "bb" };

test.each<[Stored, object]>([
  [NEW, { kind: "stored" }],
  [{ ok: true, acceptance: { duplicate: true } }, { kind: "duplicate" }],
  [
    { ok: true, acceptance: { duplicate: true, differs } },
    { kind: "duplicate", differs },
  ],
])("what is stored as %j is told as %j, by its id, type and secret", async (stored, told) => {
  const body = newBody("order.created");
  const { receipt } = await bring(body, { stored });
  expect(receipt).toEqual({ ...told, id: idOf(body), type: "order.created", secretIndex: 1 });
});

test.each(["busy", "full", "timeout", "outcome_unknown"] as const)(
  "what is not stored for %s is told with its reason and detail",
  async (reason) => {
    const { receipt } = await bring(newBody(), { stored: { ok: false, reason, detail: `why ${reason}` } });
    expect(receipt).toEqual({ kind: "unavailable", reason, detail: `why ${reason}` });
  },
);

test.each<[string, Buffer, Partial<Delivery>, string]>([
  ["unsigned", newBody(), { signatures: [] }, "invalid_signature"],
  ["signed for another body", newBody(), { signatures: [signatureFor(newBody())] }, "invalid_signature"],
  ["no JSON", Buffer.from("{"), {}, "invalid_json"],
  ["no event", Buffer.from("{}"), {}, "invalid_event"],
  ["unsigned and no JSON", Buffer.from("{"), { signatures: ["t=1,v1=0"] }, "invalid_signature"],
])("what is %s is not stored", async (_what, body, changes, kind) => {
  const { receipt, events } = await bring(body, changes);
  expect([receipt.kind, events]).toEqual([kind, []]);
});
