import { digest, header, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Named } from "../check.ts";
import { accepts, allAcknowledged, every } from "../judge.ts";
import { RULES } from "../rules.ts";

const SHAPE_HINT =
  "Require nothing of an order or a booking but that it is an object: its fields are not published.";
const FORM_HINT =
  "Take transfer_to and transfer_succeeded as they come; only null is stated, and that it may be something else.";

/** Whether the receiver depends on anything that the specification leaves open: one check for each such reading. */
export const readingChecks: Check[] = [
  reading(
    {
      name: "transfer-to-string",
      title: "accepts transfer_to as a string",
      spec: RULES.unstatedForm,
      hint: FORM_HINT,
      type: "call.transferred",
    },
    {
      transfer_to: "+12125550101",
    },
  ),
  reading(
    {
      name: "transfer-to-object",
      title: "accepts transfer_to as an object",
      spec: RULES.unstatedForm,
      hint: FORM_HINT,
      type: "call.transferred",
    },
    {
      transfer_to: { name: "Front desk", phone: "+12125550101" },
    },
  ),
  reading(
    {
      name: "transfer-succeeded-string",
      title: "accepts transfer_succeeded as a string",
      spec: RULES.unstatedForm,
      hint: FORM_HINT,
      type: "call.transferred",
    },
    { transfer_succeeded: "answered" },
  ),
  reading(
    {
      name: "transfer-failed",
      title: "accepts a transfer that nobody answered",
      spec: RULES.unstatedForm,
      hint: FORM_HINT,
      type: "call.transferred",
    },
    {
      transfer_succeeded: false,
    },
  ),
  minimal("minimal-order", "accepts an order with nothing but its kind", "order.created"),
  minimal("minimal-booking", "accepts a booking with nothing but its kind", "booking.created"),
  reading(
    {
      name: "rich-order",
      title: "accepts an order with many fields",
      spec: RULES.orderShape,
      hint: SHAPE_HINT,
      type: "order.created",
    },
    {
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
  ),
  reading(
    {
      name: "rich-booking",
      title: "accepts a booking with many fields",
      spec: RULES.orderShape,
      hint: SHAPE_HINT,
      type: "booking.created",
    },
    {
      customer: { name: "Jordan Ellis", phone: "+12125550177" },
      window: { from: "2026-02-03T09:00:00Z", to: null },
      staff: [],
      recurring: false,
    },
  ),
  accepts(
    "readings",
    {
      id: "readings.extra-signature-keys",
      title: "accepts unknown keys in the signature header",
      level: "advice",
      spec: RULES.header,
      hint: "Read t and v1 and leave other keys alone; a later scheme will stand beside v1.",
    },
    ({ deliver, event }) =>
      deliver(event(), {
        signature: [header`t=${T},v1=${V1},v2=${digest({ message: ["later"] })},kid=k1`],
      }),
  ),
  {
    id: "readings.reserialized-retry",
    title: "acknowledges a retry whose body is written differently",
    level: "must",
    group: "readings",
    spec: RULES.duplicates,
    hint: "The id makes it the same event, whatever its bytes; verify each delivery over its own body.",
    run: async ({ deliver, event }) => {
      const envelope = event("order.created");
      const again = Buffer.from(
        JSON.stringify(Object.fromEntries(Object.entries(envelope).toReversed()), null, 2),
      );
      return every(allAcknowledged([await deliver(envelope)]), allAcknowledged([await deliver(again)]));
    },
  },
  accepts(
    "readings",
    {
      id: "readings.distinct-ids",
      title: "acknowledges one object under two event ids",
      level: "must",
      spec: RULES.duplicates,
      hint: "Whether two endpoints get the same event id is not stated. De-duplicate by event id alone.",
    },
    async ({ deliver, event, later }) => {
      const first = event("voicemail.created");
      const second = later(first, "voicemail.created");
      return [await deliver(first), await deliver(second)];
    },
  ),
  accepts(
    "readings",
    {
      id: "readings.completed-last",
      title: "acknowledges the transfer of a call before its completion",
      level: "must",
      about: ["call.completed", "call.transferred"],
      spec: RULES.types,
      hint: "The order of call.completed and call.transferred is not stated: let neither need the other.",
    },
    async ({ deliver, event, later }) => {
      const transferred = event("call.transferred");
      const completed = later(transferred, "call.completed");
      return [await deliver(transferred), await deliver(completed)];
    },
  ),
  accepts(
    "readings",
    {
      id: "readings.test-event",
      title: "acknowledges a test event whose call the API does not know",
      level: "must",
      about: ["call.completed"],
      spec: RULES.test,
      hint: "The dashboard's test event is synthetic: do not look its call up before you answer.",
    },
    ({ deliver, event }) =>
      deliver(
        event("call.completed", {
          id: "call_test",
          agent_id: "ag_test",
          transcript: "Test.",
          duration_sec: 0,
        }),
      ),
  ),
  {
    id: "readings.whole-answer",
    title: "finishes its answer, not only the status line",
    level: "advice",
    group: "readings",
    spec: RULES.answer,
    hint: "End the response. Whether the headers or the whole answer must arrive within 10 seconds is not stated.",
    run: async ({ deliver, event }) => {
      const exchange = await deliver(event());
      const { outcome } = exchange;
      if (outcome.kind === "no_answer" || outcome.complete) return allAcknowledged([exchange]);
      return {
        outcome: "failed",
        problem: `The answer began with ${outcome.status}, but its body never ended.`,
        exchanges: [exchange],
      };
    },
  },
];

function reading(
  {
    name,
    type,
    ...about
  }: Named<"title" | "spec" | "hint"> & {
    type: "call.completed" | "call.transferred" | "order.created" | "booking.created";
  },
  object: Record<string, unknown>,
): Check {
  return accepts(
    "readings",
    { ...about, id: `readings.${name}`, level: "must", about: [type] },
    ({ deliver, event }) => deliver(event(type, object)),
  );
}

function minimal(name: string, title: string, type: "order.created" | "booking.created"): Check {
  return accepts(
    "readings",
    { id: `readings.${name}`, title, level: "must", about: [type], spec: RULES.orderShape, hint: SHAPE_HINT },
    ({ deliver, event }) => {
      const envelope = event(type);
      return deliver({
        ...envelope,
        data: { object: { object: type === "order.created" ? "order" : "booking" } },
      });
    },
  );
}
