import type { Envelope, EventType } from "../../../shared/events.ts";
import { digest, header, T, V1 } from "../../signature-recipe/recipe.ts";
import type { Check, Runs } from "../check.ts";
import { accepted, allAcknowledged, failed } from "../judgement.ts";

const AGAIN = "Caller: Could you say that again, please?\n";
const CUSTOMER = { name: "Jordan Ellis", phone: "+12125550177" };

/** Whether the receiver accepts what the service may send later, or now where the specification is silent. */
export const unfamiliarRuns: Runs = {
  "evolution.unknown-envelope-field": enveloped(() => ({ trace_id: "tr_1", attempt_hint: { number: 1 } })),
  "evolution.unknown-data-field": enveloped(({ data }) => ({
    data: { ...data, previous_attributes: { outcome: "completed" } },
  })),
  "evolution.unknown-object-field": {
    ...changed("call.completed", { sentiment: 0.8, tags: ["vip"], summary: null, nested: { a: [[{}]] } }),
    about: [],
  },
  "evolution.unknown-type": {
    about: ["new types"],
    run: accepted(({ deliver, event, undocumented }) =>
      deliver(undocumented(event("call.completed", {}, { type: "call.summarized" }))),
    ),
  },
  "evolution.unknown-outcome": changed("call.completed", { outcome: "abandoned" }),
  "evolution.unknown-reason": changed("voicemail.created", { reason: "line_busy" }),
  "evolution.unknown-language": changed("call.completed", {
    detected_language: "yue",
    transcript: "Agent: 你好。\nCaller: 早晨。",
  }),
  "evolution.null-notes": changed("voicemail.created", { notes: null }),
  "evolution.filled-notes": changed("voicemail.created", { notes: "Called back on Monday." }),
  "evolution.reviewed-voicemail": changed("voicemail.created", { reviewed: true, callback_made: true }),
  "evolution.empty-call": changed("call.completed", { transcript: "", duration_sec: 0 }),
  "evolution.empty-strings": changed("call.completed", { recording_url: "", detected_language: "" }),
  "evolution.integer-extremes": {
    about: ["call.completed"],
    run: accepted(({ deliver, event }) =>
      deliver(event("call.completed", { duration_sec: 2_147_483_648 }, { created: 4_294_967_296 })),
    ),
  },
  "evolution.long-transcript": changed("call.completed", { transcript: AGAIN.repeat(1_400) }),
  "evolution.large-transcript": changed("call.completed", { transcript: AGAIN.repeat(4_900) }),
  "evolution.very-large-transcript": changed("call.completed", { transcript: AGAIN.repeat(22_000) }),
  "evolution.upper-case-id": enveloped(({ id }) => ({ id: `evt_${id.slice(4).toUpperCase()}` })),
  "evolution.other-api-version": enveloped(() => ({ api_version: "v1.1" })),
  "readings.transfer-to-string": changed("call.transferred", { transfer_to: "Front desk" }),
  "readings.transfer-to-object": changed("call.transferred", {
    transfer_to: { name: "Front desk", phone: "+12125550101" },
  }),
  "readings.transfer-succeeded-string": changed("call.transferred", { transfer_succeeded: "answered" }),
  "readings.transfer-failed": changed("call.transferred", { transfer_succeeded: false }),
  "readings.minimal-order": {
    about: ["order.created"],
    run: enveloped(() => ({ data: { object: { object: "order" } } }), "order.created"),
  },
  "readings.minimal-booking": {
    about: ["booking.created"],
    run: enveloped(() => ({ data: { object: { object: "booking" } } }), "booking.created"),
  },
  "readings.rich-order": changed("order.created", {
    customer: { ...CUSTOMER, address: null },
    items: Array.from({ length: 60 }, (_, n) => ({ sku: `P${n}`, quantity: n, price: 11.5, options: [] })),
    totals: { net: "690.00", tax: 0.19, currency: "EUR" },
    notes: null,
  }),
  "readings.rich-booking": changed("booking.created", {
    customer: CUSTOMER,
    window: { from: "2026-02-03T09:00:00Z", to: null },
    staff: [],
    recurring: false,
  }),
  "readings.extra-signature-keys": accepted(({ deliver, event }) =>
    deliver(event(), { signature: [header`t=${T},v1=${V1},v2=${digest({ message: ["later"] })},kid=k1`] }),
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
  "readings.test-event": changed("call.completed", {
    id: "call_test",
    agent_id: "ag_test",
    transcript: "Test.",
    duration_sec: 0,
  }),
  "readings.whole-answer": async ({ deliver, event }) => {
    const exchange = await deliver(event());
    const { outcome } = exchange;
    if (outcome.kind === "no_answer" || outcome.complete) return allAcknowledged([exchange]);
    return failed("unfinished", undefined, [exchange]);
  },
};

/** An event with this change of its object must be acknowledged. */
function changed(type: EventType, object: Record<string, unknown>): Pick<Check, "about" | "run"> {
  return { about: [type], run: accepted(({ deliver, event }) => deliver(event(type, object))) };
}

/** An event with this change of its envelope must be acknowledged. */
function enveloped(change: (usual: Envelope) => object, type?: EventType): Check["run"] {
  return accepted(({ deliver, event }) => {
    const usual = event(type);
    return deliver({ ...usual, ...change(usual) });
  });
}
