import { digest, header, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Runs } from "../check.ts";
import { accepted, allAcknowledged, failed } from "../judgement.ts";
import { changed } from "./evolution.ts";

/** Whether the receiver depends on anything that the specification leaves open: one check for each such reading. */
export const readingRuns: Runs = {
  "readings.transfer-to-string": transferred({ transfer_to: "Front desk" }),
  "readings.transfer-to-object": transferred({ transfer_to: { name: "Front desk", phone: "+12125550101" } }),
  "readings.transfer-succeeded-string": transferred({ transfer_succeeded: "answered" }),
  "readings.transfer-failed": transferred({ transfer_succeeded: false }),
  "readings.minimal-order": minimal("order"),
  "readings.minimal-booking": minimal("booking"),
  "readings.rich-order": changed({
    type: "order.created",
    object: {
      customer: { name: "Jordan Ellis", phone: "+12125550177", address: null },
      items: Array.from({ length: 60 }, (_, n) => ({
        sku: `P${n}`,
        quantity: n,
        unit_price: 11.5,
        options: [],
      })),
      totals: { net: "690.00", tax: 0.19, currency: "EUR" },
      notes: null,
    },
  }),
  "readings.rich-booking": changed({
    type: "booking.created",
    object: {
      customer: { name: "Jordan Ellis", phone: "+12125550177" },
      window: { from: "2026-02-03T09:00:00Z", to: null },
      staff: [],
      recurring: false,
    },
  }),
  "readings.extra-signature-keys": accepted(({ deliver, event }) =>
    deliver(event(), {
      signature: [header`t=${T},v1=${V1},v2=${digest({ message: ["later"] })},kid=k1`],
    }),
  ),
  "readings.reserialized-retry": accepted(async ({ deliver, event }) => {
    const envelope = event("order.created");
    const reversed = Object.fromEntries(Object.entries(envelope).toReversed());
    return [await deliver(envelope), await deliver(Buffer.from(JSON.stringify(reversed, null, 2)))];
  }),
  "readings.distinct-ids": accepted(async ({ deliver, event, later }) => {
    const first = event("voicemail.created");
    const second = later(first, "voicemail.created");
    return [await deliver(first), await deliver(second)];
  }),
  "readings.completed-last": {
    about: ["call.completed", "call.transferred"],
    run: accepted(async ({ deliver, event, later }) => {
      const transfer = event("call.transferred");
      const completed = later(transfer, "call.completed");
      return [await deliver(transfer), await deliver(completed)];
    }),
  },
  "readings.test-event": changed({
    object: { id: "call_test", agent_id: "ag_test", transcript: "Test.", duration_sec: 0 },
  }),
  "readings.whole-answer": async ({ deliver, event }) => {
    const exchange = await deliver(event());
    const { outcome } = exchange;
    if (outcome.kind === "no_answer" || outcome.complete) return allAcknowledged([exchange]);
    return failed("unfinished", undefined, [exchange]);
  },
};

function transferred(object: Record<string, unknown>): Pick<Check, "about" | "run"> {
  return changed({ type: "call.transferred", object });
}

function minimal(kind: "order" | "booking"): Pick<Check, "about" | "run"> {
  const type = `${kind}.created` as const;
  return { ...changed({ type, data: { object: { object: kind } } }), about: [type] };
}
