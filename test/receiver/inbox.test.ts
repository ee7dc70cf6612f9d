import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { createInbox } from "../../receiver/intake/inbox.ts";
import { newBody, SECRET, signatureFor } from "./helpers/events.ts";

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
    trace: null,
  });
  expect(receipt.kind).toBe(kind);
});
