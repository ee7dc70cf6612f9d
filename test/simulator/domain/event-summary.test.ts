import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventSummary } from "../../../simulator/domain/world/event-types.ts";

const about = (type: string, object: Record<string, unknown>) =>
  eventSummary({ type, data: { object: { object: "any", ...object } } });

describe("the summary line of an event", () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      "voicemail.created",
      { customer_name: "Ada Lovelace", message_text: "I lost\n my  jacket." },
      "Ada Lovelace left a voicemail · I lost my jacket.",
    ],
    ["voicemail.created", { phone: "+12125550110", message_text: "" }, "+12125550110 left a voicemail"],
    [
      "order.created",
      {
        customer_name: "Ada",
        items: [{ name: "Margherita", quantity: 2 }, { name: "Tiramisù" }, 7],
        total: "30.50",
      },
      "Ada ordered 2 Margherita, Tiramisù · 30.50",
    ],
    ["order.created", { customer_name: "Ada", total: "30.50", currency: "USD" }, "Ada ordered · 30.50 USD"],
    ["order.created", {}, "Somebody ordered"],
    [
      "booking.created",
      { customer_name: "Ada", service: "Repair visit", starts_at: "2026-01-14T17:30:00Z" },
      "Ada booked Repair visit · Jan 14, 17:30 UTC",
    ],
    ["booking.created", { starts_at: "soon" }, "Somebody booked an appointment"],
    [
      "call.completed",
      { phone: "+1", outcome: "voicemail", duration_sec: 59 },
      "+1 called · left a voicemail, 59 s",
    ],
    [
      "call.completed",
      { phone: "+1", outcome: "completed", duration_sec: 60 },
      "+1 called · completed, 1 min 0 s",
    ],
    [
      "call.transferred",
      { phone: "+1", transfer_succeeded: true, duration_sec: 5 },
      "+1 was put through to the staff line · 5 s",
    ],
    [
      "call.transferred",
      { phone: "+1", transfer_succeeded: "failed" },
      "+1 was not put through to the staff line",
    ],
    ["call.archived", { id: "call_1" }, "call.archived · call_1"],
  ])("%s of %j", (type, object, line) => {
    expect(about(type, object)).toBe(line);
  });

  test("has at most 120 characters, and splits none of them", () => {
    for (const letter of ["x", "😀"]) {
      const line = about("voicemail.created", { customer_name: "Ada", message_text: letter.repeat(500) });
      expect(line.length).toBeLessThanOrEqual(120);
      expect(line).toMatch(/…$/);
      expect(line.isWellFormed()).toBe(true);
    }
    const exact = "Ada left a voicemail · ";
    const message = "x".repeat(120 - exact.length);
    expect(about("voicemail.created", { customer_name: "Ada", message_text: message })).toBe(exact + message);
    expect(about("voicemail.created", { customer_name: "Ada", message_text: `${message}x` })).toMatch(/…$/);
  });

  test("is one line of text for any input", () => {
    const type = fc.constantFrom(
      "voicemail.created",
      "order.created",
      "booking.created",
      "call.completed",
      "x",
    );
    fc.assert(
      fc.property(type, fc.dictionary(fc.string(), fc.jsonValue()), (name, object) => {
        expect(about(name, object)).toMatch(/^\S[^\n]{0,119}$/u);
      }),
    );
  });
});
