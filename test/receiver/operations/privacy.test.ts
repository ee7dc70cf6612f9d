import { expect, test } from "vitest";
import { createCleaner, redactEnvelope, secretsOf } from "../../../receiver/operations/present.ts";
import { environmentForHandlers } from "../../../receiver/config.ts";
import { envelopeSchema, EVENT_TYPES } from "../../../shared/events.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";

const clean = createCleaner(["whsec_0123456789", "whsec_0123456789_b", "short", "a b+c/d=efgh"]);

test.each([
  ["no customer with +49 (30) 123-4567", "no customer with [redacted]"],
  ["call 212-555-0123 or (212) 555.0123 or 2125550123", "call [redacted] or [redacted] or [redacted]"],
  ["maria.lopez+x@mail.example.co.uk is unknown", "[redacted] is unknown"],
  ["connect postgres://app:pass@db:5432/x", "connect postgres://[redacted]db:5432/x"],
  ["of two that begin alike whsec_0123456789_b", "of two that begin alike [redacted]"],
  ["in a URL: a%20b%2Bc%2Fd%3Defgh", "in a URL: [redacted]"],
  ["status 404, order 123456 at 12:30:05, short words", "status 404, order 123456 at 12:30:05, short words"],
  [`${"x".repeat(295)} whsec_0123456789`, `${"x".repeat(295)} [red`],
])("of a thrown message %s is kept: %s", (message, shown) => {
  expect(clean(message)).toBe(shown);
});

test("a message of a megabyte is masked as fast as a short one", () => {
  const startedMs = performance.now();
  for (const part of ["@", "a.", "+1 ", "1", "a@b.", "://a", "(1) ", "-"])
    expect(clean(part.repeat(1_048_576)).length).toBeLessThanOrEqual(300);
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

test("every secret of the configuration is masked, also a database's password in its encoded form", () => {
  const api = { baseUrl: "https://x", key: "key" };
  const given = { signingSecrets: ["one", "two"], adminToken: "token", api };
  const found = secretsOf({ ...given, databaseUrl: "postgres://u:p%40ss@h/d" });
  expect(found).toEqual(["one", "two", "token", "key", "p%40ss", "p@ss"]);
});

test.each(EVENT_TYPES)("a redacted %s contains no personal data, and can be sent again", (type) => {
  const envelope = sampleEnvelope(type);
  const redacted = redactEnvelope(JSON.stringify(envelope));
  expect(envelopeSchema.parse(redacted).id).toBe(envelope.id);
  const personal = Object.entries(envelope.data.object).filter(
    ([name, value]) => value !== null && /phone|name|transcript|text|notes|recording/.test(name),
  );
  for (const [, value] of personal) expect(JSON.stringify(redacted)).not.toContain(JSON.stringify(value));
});

const ID = "call_0123456789abcdef";

test.each([
  [{ phone: "+12125550123" }, { phone: "+10000000000" }],
  [{ customer: { name: "Maria", call_id: ID } }, { customer: { name: "[redacted]", call_id: ID } }],
  [
    { mobile: 2_125_550_123, created: 1_790_000_000, total: 12.5, ok: true, no: null },
    { mobile: 0, created: 1_790_000_000, total: 12.5, ok: true, no: null },
  ],
  [
    { "Maria Lopez": 1, outcome: "Maria" },
    { field_1: 1, outcome: "[redacted]" },
  ],
  [
    { outcome: "completed", tags: ["vip", "completed"] },
    { outcome: "completed", tags: ["[redacted]", "[redacted]"] },
  ],
  [
    { outcome: ["maria"], id: { x: "maria" } },
    { outcome: ["[redacted]"], id: { x: "[redacted]" } },
  ],
])("%j is redacted to %j", (value, redacted) => {
  expect(redactEnvelope(JSON.stringify(value))).toEqual(redacted);
});

test("handlers get the secrets of events and operators as empty variables, which .env does not fill", () => {
  const own = { SIGNING_SECRET: "s", SIGNING_SECRET_FILE: "/gone", ADMIN_TOKEN: "t", ADMIN_HOST: "::" };
  const none = { SIGNING_SECRET: "", SIGNING_SECRET_FILE: "", ADMIN_TOKEN: "", ADMIN_HOST: "" };
  expect(environmentForHandlers({ ...own, SHOP_TOKEN: "mine" })).toMatchObject({
    ...none,
    SHOP_TOKEN: "mine",
  });
});
