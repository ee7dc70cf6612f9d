import { expect, test } from "vitest";
import { createRedactor } from "../../../simulator/text/redact.ts";

const SECRET = 'whsec_"0123456789abcdef/+\\';
const redact = createRedactor([SECRET]);

test.each([
  ["as it is", SECRET],
  ["without its prefix", SECRET.slice(6)],
  ["inside JSON", JSON.stringify({ secret: SECRET })],
  ["inside a URL", `http://host/?secret=${encodeURIComponent(SECRET)}`],
  ["in Base64", Buffer.from(SECRET).toString("base64")],
  ["in URL-safe Base64", Buffer.from(SECRET).toString("base64url")],
  ["in hexadecimal", Buffer.from(SECRET).toString("hex")],
  ["without its prefix, in Base64", Buffer.from(SECRET.slice(6)).toString("base64")],
  ["cut off at the end", `the secret is ${SECRET.slice(0, 14)}`],
  ["but for its last character", `the secret is ${SECRET.slice(0, -1)}`],
])("a secret is taken out %s", (_, said) => {
  const shown = redact.text(said);
  expect(shown).toContain("[redacted]");
  expect(shown).not.toContain("0123456789");
  expect(redact.bytes(Buffer.from(said)).toString()).toBe(shown);
});

test("of secrets with the same beginning the longer one is removed whole", () => {
  const both = createRedactor(["whsec_rotated", "whsec_rotated_yesterday"]);
  expect(both.text("whsec_rotated_yesterday.")).toBe("[redacted].");
});

test("the user info of every URL is removed, and the URL stays", () => {
  expect(redact.text("postgres://user:p@ss:w@db.example/x and https://token@host:80/a@b")).toBe(
    "postgres://[redacted]@db.example/x and https://[redacted]@host:80/a@b",
  );
});

test("text without a secret stays unchanged, bytes that are not text included", () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  expect(redact.bytes(bytes)).toEqual(bytes);
  const text = "whsec_ is a prefix; write to me@example.com, http://host/a@b";
  expect(redact.text(text)).toBe(text);
  // Too short for a secret: it would match everywhere.
  expect(createRedactor(["s"]).text("success")).toBe("success");
});
