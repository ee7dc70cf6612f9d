import { digest, header, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check } from "../check.ts";
import { accepted, allAcknowledged, checksOf } from "../judge.ts";
import { RULES } from "../rules.ts";
import { changed } from "./evolution.ts";

const FORM = {
  spec: RULES.unstatedForm,
  hint: "Take transfer_to and transfer_succeeded as they come; only null is stated, and that it may be something else.",
};
const SHAPE = {
  spec: RULES.orderShape,
  hint: "Require nothing of an order or a booking but that it is an object: its fields are not published.",
};

/** Whether the receiver depends on anything that the specification leaves open: one check for each such reading. */
export const readingChecks: Check[] = [
  ...checksOf("readings", FORM, {
    "transfer-to-string": {
      title: "accepts transfer_to as a string",
      ...transferred({ transfer_to: "+12125550101" }),
    },
    "transfer-to-object": {
      title: "accepts transfer_to as an object",
      ...transferred({ transfer_to: { name: "Front desk", phone: "+12125550101" } }),
    },
    "transfer-succeeded-string": {
      title: "accepts transfer_succeeded as a string",
      ...transferred({ transfer_succeeded: "answered" }),
    },
    "transfer-failed": {
      title: "accepts a transfer that nobody answered",
      ...transferred({ transfer_succeeded: false }),
    },
  }),
  ...checksOf("readings", SHAPE, {
    "minimal-order": { title: "accepts an order with nothing but its kind", ...minimal("order") },
    "minimal-booking": { title: "accepts a booking with nothing but its kind", ...minimal("booking") },
    "rich-order": {
      title: "accepts an order with many fields",
      ...changed({
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
    },
    "rich-booking": {
      title: "accepts a booking with many fields",
      ...changed({
        type: "booking.created",
        object: {
          customer: { name: "Jordan Ellis", phone: "+12125550177" },
          window: { from: "2026-02-03T09:00:00Z", to: null },
          staff: [],
          recurring: false,
        },
      }),
    },
    "extra-signature-keys": {
      title: "accepts unknown keys in the signature header",
      level: "advice",
      spec: RULES.header,
      hint: "Read t and v1 and leave other keys alone; a later scheme will stand beside v1.",
      run: accepted(({ deliver, event }) =>
        deliver(event(), {
          signature: [header`t=${T},v1=${V1},v2=${digest({ message: ["later"] })},kid=k1`],
        }),
      ),
    },
    "reserialized-retry": {
      title: "acknowledges a retry whose body is written differently",
      spec: RULES.duplicates,
      hint: "The id makes it the same event, whatever its bytes; verify each delivery over its own body.",
      run: accepted(async ({ deliver, event }) => {
        const envelope = event("order.created");
        const reversed = Object.fromEntries(Object.entries(envelope).toReversed());
        return [await deliver(envelope), await deliver(Buffer.from(JSON.stringify(reversed, null, 2)))];
      }),
    },
    "distinct-ids": {
      title: "acknowledges one object under two event ids",
      spec: RULES.duplicates,
      hint: "Whether two endpoints get the same event id is not stated. De-duplicate by event id alone.",
      run: accepted(async ({ deliver, event, later }) => {
        const first = event("voicemail.created");
        const second = later(first, "voicemail.created");
        return [await deliver(first), await deliver(second)];
      }),
    },
    "completed-last": {
      title: "acknowledges the transfer of a call before its completion",
      about: ["call.completed", "call.transferred"],
      spec: RULES.types,
      hint: "The order of call.completed and call.transferred is not stated: let neither need the other.",
      run: accepted(async ({ deliver, event, later }) => {
        const transfer = event("call.transferred");
        const completed = later(transfer, "call.completed");
        return [await deliver(transfer), await deliver(completed)];
      }),
    },
    "test-event": {
      title: "acknowledges a test event whose call the API does not know",
      spec: RULES.test,
      hint: "The dashboard's test event is synthetic: do not look its call up before you answer.",
      ...changed({
        object: { id: "call_test", agent_id: "ag_test", transcript: "Test.", duration_sec: 0 },
      }),
    },
    "whole-answer": {
      title: "finishes its answer, not only the status line",
      level: "advice",
      spec: RULES.answer,
      hint: "End the response. Whether the headers or the whole answer must arrive within 10 seconds is not stated.",
      run: async ({ deliver, event }) => {
        const exchange = await deliver(event());
        const { outcome } = exchange;
        if (outcome.kind === "no_answer" || outcome.complete) return allAcknowledged([exchange]);
        const problem = `The answer began with ${outcome.status}, but its body never ended.`;
        return { outcome: "failed", problem, exchanges: [exchange] };
      },
    },
  }),
];

function transferred(object: Record<string, unknown>): Pick<Check, "about" | "run"> {
  return changed({ type: "call.transferred", object });
}

function minimal(kind: "order" | "booking"): Pick<Check, "about" | "run"> {
  const type = `${kind}.created` as const;
  return { ...changed({ type, data: { object: { object: kind } } }), about: [type] };
}
