import { assert, property, stringMatching } from "fast-check";
import { describe, expect, test } from "vitest";
import { causeOfError } from "../../../receiver/store/job-rules.ts";

describe("the cause in the text of an error", () => {
  test.each([
    ["Customer cus_9s6XKzkNRiz8 not found", "Customer cus_NffrFeUfNV2Hib not found"],
    ["connect ECONNREFUSED 10.0.0.5:5432", "connect ECONNREFUSED 127.0.0.1:1"],
    ["connect ECONNREFUSED ::1:5432", "connect ECONNREFUSED [fe80::1]:80"],
    ["took 1.5s, then 300ms", "took 20.25s, then 1ms"],
    ["no slot at 2026-11-28T18:30:00Z", "no slot at 2025-01-01"],
    [
      "evt_7f3c9a1e5b2d4c6f8a0b1c2d3e4f5a6b: duplicate key 7b0c7d3e-0a44-4f7a-9d2c-5b1f6a1c2d3e",
      "evt_00000000000000000000000000000001: duplicate key 00000000-0000-0000-0000-000000000000",
    ],
    ["mail to anna@example.com bounced", "mail to b.c+d@sub.example.org bounced"],
    ["call +390612345678 at 09:15:00", "call +15551234567 at 23:59:59"],
    ["order 7 is gone", "order 12345678 is gone"],
    ["order a1b2c3d4e5 is gone", "order V1StGXR8Z5jdHi6B is gone"],
  ])("%s is the same as %s", (one, other) => {
    expect(causeOfError(one)).toBe(causeOfError(other));
  });

  test.each([
    ["CRM answered 503", "CRM answered 404"],
    [
      "Cannot read properties of undefined (reading 'phone')",
      "Cannot read properties of undefined (reading 'order')",
    ],
    ["ERR_HTTP2_STREAM_ERROR", "ERR_HTTP2_PING_CANCEL"],
    ["unknown field customer_name", "unknown field transfer_to"],
  ])("%s is another than %s", (one, other) => {
    expect(causeOfError(one)).not.toBe(causeOfError(other));
  });

  test("is one short line, and the cause of itself", () => {
    assert(
      property(stringMatching(/^[ -~\n]{0,60}$/), (text) => {
        const cause = causeOfError(text);
        expect(cause).not.toMatch(/\n/);
        expect(cause.length).toBeLessThanOrEqual(200);
        expect(causeOfError(cause)).toBe(cause);
      }),
    );
  });
});
