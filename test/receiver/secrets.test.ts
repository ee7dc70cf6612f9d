import { join } from "node:path";
import { expect, test } from "vitest";
import { createRedactor, secretsOf } from "../../receiver/operations/secrets.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";
import { openFiles } from "./helpers/parts.ts";
import { testConfig } from "./helpers/receiver.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** What the configuration keeps secret stands in no text that leaves. */

const SECRETS = {
  SIGNING_SECRET: "whsec_first_0001,whsec_second_0002",
  API_BASE_URL: "https://api.example.com",
  API_KEY: 'key_"quoted"/0003',
  DATABASE_URL: "postgres://receiver:p%40ssword_0004@db.example.com/receiver",
};

const redact = createRedactor(secretsOf(testConfig(SECRETS)));

test.for([
  "whsec_first_0001",
  "whsec_second_0002",
  SECRETS.API_KEY,
  JSON.stringify(SECRETS.API_KEY).slice(1, -1),
  encodeURIComponent(SECRETS.API_KEY),
  "p@ssword_0004",
  "p%40ssword_0004",
])("%s is left out, wherever it stands", (secret) => {
  expect(redact(`a${secret}b ${secret}`)).toBe("a[redacted]b [redacted]");
  expect(redact(JSON.stringify({ [secret]: [secret] }))).not.toMatch(/000[1-4]/);
});

test("the user and the password of an address are left out, whoever's they are", () => {
  expect(redact("GET https://me:p~%20w@example.com:8080/x?y=a@b failed, postgres://u@h/d")).toBe(
    "GET https://[redacted]@example.com:8080/x?y=a@b failed, postgres://[redacted]@h/d",
  );
  expect(redact("mail me@example.com at https://example.com/@me")).toBe(
    "mail me@example.com at https://example.com/@me",
  );
});

test("of secrets of which one is a part of another nothing is left, whatever their order", () => {
  const parts = ["whsec_long_0001", "whsec_long_0001_more", "of_whsec_long_0001_more"];
  for (const secrets of [parts, parts.toReversed()])
    for (const secret of parts) expect(createRedactor(secrets)(`<${secret}>`)).toBe("<[redacted]>");
});

test.each([
  ["1234567", false],
  ["12345678", true],
])("whether %s is long enough to be a secret is %o", (secret, isSecret) => {
  expect(createRedactor([secret])(`<${secret}>`)).toBe(isSecret ? "<[redacted]>" : `<${secret}>`);
});

test.each<[Record<string, string>, string[]]>([
  [{}, ["whsec_test"]],
  [{ ADMIN_TOKEN: "token-of-operators" }, ["token-of-operators", "whsec_test"]],
  [{ API_BASE_URL: "https://a.example", API_KEY: "key_0003" }, ["key_0003", "whsec_test"]],
  [{ DATABASE_URL: "postgres://u:p%40w@h/d" }, ["p%40w", "p@w", "whsec_test"]],
  [{ DATABASE_URL: "postgres://u:p%w@h/d" }, ["p%w", "whsec_test"]],
])("of the settings %j these are secrets: %j", (settings, expected) => {
  const found = secretsOf(testConfig({ SIGNING_SECRET: "whsec_test", ...settings }));
  expect([...new Set(found)].filter((secret) => secret !== "").toSorted()).toEqual(expected);
});

test("what is too short to be a secret is not looked for", () => {
  expect(createRedactor(["short"])("in short, nothing")).toBe("in short, nothing");
});

test("no command repeats a secret that it is given", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  openFiles(file);
  const given = { ...SECRETS, ADMIN_TOKEN: "token-of-operators_0005", DATABASE_URL: `sqlite:${file}` };
  for (const secret of ["whsec_first_0001", "whsec_second_0002", SECRETS.API_KEY, given.ADMIN_TOKEN])
    expect(await runReceiver(["inbox", "show", secret], given)).toMatchObject({
      code: 2,
      err: expect.stringContaining("[redacted] is not in this inbox"),
    });
});
