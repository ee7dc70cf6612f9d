import { describe, expect, test } from "vitest";
import { createCleaner, piecesOf, prettyJson, secretsOf } from "../../../receiver/operations/privacy.ts";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { envelopeSchema, EVENT_TYPES } from "../../../shared/events.ts";

const redacted = (json: string): string => [...piecesOf(json, { hides: true })].join("");

describe("a thrown message", () => {
  const clean = createCleaner(["whsec_0123456789", "short", "a b+c/d=efgh"]);

  test.each([
    ["no customer with +49 (30) 123-4567", "no customer with [redacted]"],
    ["call 212-555-0123 or (212) 555.0123 or 2125550123", "call [redacted] or [redacted] or [redacted]"],
    ["maria.lopez+x@mail.example.co.uk is unknown", "[redacted] is unknown"],
    ["connect postgres://app:pass@db:5432/x", "connect postgres://[redacted]db:5432/x"],
    ["got whsec_0123456789!", "got [redacted]!"],
    ["in a URL: a%20b%2Bc%2Fd%3Defgh", "in a URL: [redacted]"],
    ["status 404, order 123456 at 12:30:05, 3 of 10", "status 404, order 123456 at 12:30:05, 3 of 10"],
    ["short words stay", "short words stay"],
  ])("%s", (message, shown) => {
    expect(clean(message)).toBe(shown);
  });

  test("keeps 300 characters, masked before they are cut, in time that grows with nothing", () => {
    const long = `${"x".repeat(295)} whsec_0123456789`;
    expect(clean(long)).toBe(`${"x".repeat(295)} [red`);
    const startedMs = performance.now();
    for (const part of ["@", "a.", "+1 ", "1", "a@b.", "://a", "(1) ", "-"]) {
      expect(clean(part.repeat(1_048_576)).length).toBeLessThanOrEqual(300);
    }
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});

test("no secret of the configuration is left out, also as a database's password is written", () => {
  expect(
    secretsOf({
      signingSecrets: ["one", "two"],
      adminToken: "token",
      api: { baseUrl: "https://x", key: "key" },
      databaseUrl: "postgres://u:p%40ss@h/d",
    }),
  ).toEqual(["one", "two", "token", "key", "p%40ss", "p@ss"]);
});

describe("a redacted envelope", () => {
  test("has nothing of a person, and stays an event that can be sent again", () => {
    for (const type of EVENT_TYPES) {
      const envelope = sampleEnvelope(type);
      const text = redacted(JSON.stringify(envelope));
      expect(envelopeSchema.parse(JSON.parse(text)).id).toBe(envelope.id);
      for (const personal of Object.entries(envelope.data.object).flatMap(([name, value]) =>
        /phone|name|transcript|text|notes|recording/.test(name) && typeof value === "string" ? [value] : [],
      ))
        expect(text).not.toContain(personal);
    }
  });

  test("keeps the text of numbers, and of all that is between values", () => {
    const json =
      '{ "total": 12.50, "n":-0, "big":9007199254740993,"e":1e9999, "a":[1,\n2], "a":[], "ok":true,"no":null }';
    expect(redacted(json)).toBe(json);
  });

  test.each([
    ['{"phone":"+12125550123"}', '{"phone":"+10000000000"}'],
    [
      '{"customer":{"name":"Maria","call_id":"call_0123456789abcdef"}}',
      '{"customer":{"name":"[redacted]","call_id":"call_0123456789abcdef"}}',
    ],
    ['{"mobile":2125550123,"created":1790000000}', '{"mobile":0,"created":1790000000}'],
    ['{"Maria Lopez":1,"outcome":"Maria"}', '{"field_1":1,"outcome":"[redacted]"}'],
    [
      '{"outcome":"completed","tags":["vip","completed"]}',
      '{"outcome":"completed","tags":["[redacted]","[redacted]"]}',
    ],
    [String.raw`{"note":"a \"quoted\" \\","id":"x"}`, '{"note":"[redacted]","id":"x"}'],
    [String.raw`{"a\"b" : "c:d"}`, '{"field_1" : "[redacted]"}'],
    ['{"outcome":["maria"],"id":{"x":"maria"}}', '{"outcome":["[redacted]"],"id":{"x":"[redacted]"}}'],
    ['"+49123456"', '"+10000000000"'],
  ])("%s", (json, shown) => {
    expect(redacted(json)).toBe(shown);
  });

  test("a megabyte of brackets or of one text takes no long turn", () => {
    for (const json of [
      "[".repeat(524_288) + "]".repeat(524_288),
      `"${String.raw`\"`.repeat(524_288)}"`,
      `[${"1,".repeat(500_000)}1]`,
    ]) {
      let longestMs = 0;
      let pieces = 0;
      let startedMs = performance.now();
      for (const _piece of piecesOf(json, { hides: true })) {
        pieces += 1;
        if (pieces % 20_000 > 0) continue;
        longestMs = Math.max(longestMs, performance.now() - startedMs);
        startedMs = performance.now();
      }
      expect(Math.max(longestMs, performance.now() - startedMs)).toBeLessThan(500);
    }
  });
});

test("JSON for people has a value a line, its own numbers, and no indentation that grows with the depth", () => {
  expect(prettyJson(piecesOf('{"a":{"b":[1.50,"x:{"]},"c":[]}', { hides: false }))).toBe(
    '{\n  "a": {\n    "b": [\n      1.50,\n      "x:{"\n    ]\n  },\n  "c": []\n}',
  );
  const deep = prettyJson(
    piecesOf("[".repeat(60) + "1,".repeat(10_000) + "1" + "]".repeat(60), { hides: false }),
  );
  expect(deep.length).toBeLessThan(30 * 10_060);
});
