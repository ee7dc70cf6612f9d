import { execFileSync, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { Stripe } from "stripe";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../helpers/any-character.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { parseSignature, sign, type SignatureProblem, verify } from "../../shared/signature.ts";

const SECRET = "whsec_test";
const NOW = 1_769_882_709;
const BODY = Buffer.from('{"id":"evt_0"}');
const RUNS = 1_000;

const bodies = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const secrets = fc
  .string({ minLength: 1, maxLength: 60, unit: "grapheme" })
  .filter((text) => text.trim() !== "");
const times = fc.integer({ min: 0, max: 4_102_444_800 });

const check = (header: string, more: Partial<Parameters<typeof verify>[0]> = {}) =>
  verify({ headers: [header], body: BODY, secrets: [SECRET], nowSeconds: NOW, ...more });

describe("sign", () => {
  test("signs t, a period and the raw bytes (SPEC §6)", () => {
    const v1 = createHmac("sha256", SECRET).update(`${NOW}.`).update(BODY).digest("hex");
    expect(sign({ body: BODY, secret: SECRET, timestampSeconds: NOW })).toBe(`t=${NOW},v1=${v1}`);
  });

  test("takes a string as its UTF-8 bytes", () => {
    const text = '{"name":"Žofia 李 🎉"}';
    const options = { secret: SECRET, timestampSeconds: NOW };
    expect(sign({ body: text, ...options })).toBe(sign({ body: Buffer.from(text), ...options }));
  });
});

describe("verify", () => {
  test("accepts every signature made by sign, at any time within the tolerance", () => {
    fc.assert(
      fc.property(bodies, secrets, times, fc.integer({ min: -300, max: 300 }), (body, secret, t, age) => {
        const header = sign({ body, secret, timestampSeconds: t });
        expect(verify({ headers: [header], body, secrets: ["other", secret], nowSeconds: t + age })).toEqual({
          ok: true,
          timestampSeconds: t,
          secretIndex: secret === "other" ? 0 : 1,
        });
      }),
      { numRuns: RUNS },
    );
  });

  test("refuses signatures older or newer than the tolerance, and says which", () => {
    const late = fc.integer({ min: 301, max: 2 ** 31 });
    fc.assert(
      fc.property(late, times, (age, t) => {
        const header = sign({ body: BODY, secret: SECRET, timestampSeconds: t });
        expect(check(header, { nowSeconds: t + age })).toEqual({ ok: false, reason: "timestamp_too_old" });
        expect(check(header, { nowSeconds: t - age })).toEqual({ ok: false, reason: "timestamp_too_new" });
      }),
      { numRuns: RUNS },
    );
  });

  test("refuses a body with one bit changed", () => {
    const bodyAndBit = bodies
      .filter((body) => body.byteLength > 0)
      .chain((body) => fc.tuple(fc.constant(body), fc.nat(body.byteLength * 8 - 1)));
    fc.assert(
      fc.property(bodyAndBit, ([body, bit]) => {
        const header = sign({ body, secret: SECRET, timestampSeconds: NOW });
        const changed = Buffer.from(body);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(check(header, { body: changed })).toEqual({ ok: false, reason: "no_match" });
      }),
      { numRuns: RUNS },
    );
  });

  test("refuses a header with one character changed", () => {
    const header = sign({ body: BODY, secret: SECRET, timestampSeconds: NOW });
    const change = fc.tuple(fc.nat(header.length - 1), fc.string({ minLength: 1, maxLength: 1 }));
    fc.assert(
      fc.property(change, ([at, character]) => {
        fc.pre(header[at] !== character);
        expect(check(header.slice(0, at) + character + header.slice(at + 1)).ok).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  test("returns a result for any text, and never throws", () => {
    const pieces = fc.constantFrom(
      "t",
      "v1",
      "v0",
      "=",
      ",",
      " ",
      "0",
      "1769882709",
      "a".repeat(64),
      "é",
      "\0",
    );
    const texts = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(pieces).map((all) => all.join("")),
    );
    const isRefused = fc.property(
      fc.array(texts, { maxLength: 3 }),
      (headers) => !verify({ headers, body: BODY, secrets: [SECRET], nowSeconds: NOW }).ok,
    );
    expect(fc.check(isRefused, { numRuns: RUNS })).toMatchObject({ failed: false });
  });

  test("accepts nothing without a secret", () => {
    const header = sign({ body: BODY, secret: SECRET, timestampSeconds: NOW });
    expect(check(header, { secrets: [] })).toEqual({ ok: false, reason: "no_match" });
    expect(check(header, { secrets: ["", " ", SECRET] })).toMatchObject({ ok: true, secretIndex: 2 });
  });
});

describe("parseSignature names the problem", () => {
  const v1 = "a".repeat(64);
  test.each<[SignatureProblem, string[]]>([
    ["header_missing", []],
    ["header_repeated", ["t=1,v1=a", "t=1,v1=a"]],
    ["header_empty", [""]],
    ["header_too_long", [`t=1,v1=${v1},x=${"x".repeat(1_024)}`]],
    ["pair_malformed", [`t=1,v1=${v1},`]],
    ["timestamp_missing", [`v1=${v1}`]],
    ["timestamp_repeated", [`t=1,t=1,v1=${v1}`]],
    ["timestamp_malformed", [`t=01,v1=${v1}`]],
    ["signature_missing", ["t=1"]],
    ["signature_malformed", ["t=1,v1=zz"]],
    ["signatures_too_many", [`t=1${`,v1=${v1}`.repeat(9)}`]],
  ])("%s", (reason, headers) => {
    expect(parseSignature(headers)).toEqual({ ok: false, reason });
  });
});

const GOOD = sign({ body: BODY, secret: SECRET, timestampSeconds: NOW }).split("v1=")[1]!;
const VALID = { good: GOOD, other: "b".repeat(64), zero: "0".repeat(64) };
const MALFORMED = {
  upper: GOOD.toUpperCase(),
  short: GOOD.slice(1),
  long: `${GOOD}0`,
  empty: "",
  word: "zz",
};
const DIGESTS: Record<string, string> = { ...VALID, ...MALFORMED };

test("of several v1 each must be valid, and any may match, in any position", () => {
  const kinds = fc.array(fc.constantFrom(...Object.keys(DIGESTS)), { maxLength: 10 });
  const beside = fc.array(fc.constantFrom("v0=x", "v2=", "V1=x", "T=1", "x-y_z=1"), { maxLength: 2 });
  fc.assert(
    fc.property(kinds, beside, fc.nat(12), (chosen, others, at) => {
      const pairs = [...chosen.map((kind) => `v1=${DIGESTS[kind] ?? ""}`), ...others];
      const header = pairs.toSpliced(Math.min(at, pairs.length), 0, `t=${NOW}`).join(",");
      fc.pre(header.length <= 1_024);
      const reason =
        chosen.length === 0
          ? "signature_missing"
          : chosen.length > 8
            ? "signatures_too_many"
            : chosen.some((kind) => kind in MALFORMED)
              ? "signature_malformed"
              : "no_match";
      const isGood = reason === "no_match" && chosen.includes("good");
      expect(check(header)).toEqual(
        isGood ? { ok: true, timestampSeconds: NOW, secretIndex: 0 } : { ok: false, reason },
      );
    }),
    { numRuns: RUNS },
  );
});

describe("stripe's library, whose format is the same", () => {
  const { webhooks } = new Stripe("sk_test_0");

  test("accepts our signatures", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const body = JSON.stringify({ object: "event", value });
        const now = Math.floor(Date.now() / 1000);
        const header = sign({ body, secret: SECRET, timestampSeconds: now });
        expect(JSON.stringify(webhooks.constructEvent(body, header, SECRET))).toBe(
          JSON.stringify(JSON.parse(body)),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("makes headers that we accept", () => {
    fc.assert(
      // That library takes zero as "now".
      fc.property(fc.json(), times.filter(Boolean), (payload, timestamp) => {
        const header = webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp });
        const body = Buffer.from(payload);
        expect(check(header, { body, nowSeconds: timestamp }).ok).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

const hasOpenssl = ALL && process.platform === "linux" && spawnSync("openssl", ["version"]).status === 0;

test.runIf(hasOpenssl)("the vectors are what their script writes (needs openssl)", () => {
  const [script = "", written = ""] = ["make-signature-vectors.sh", "signature.json"].map((name) =>
    fileURLToPath(new URL(`../vectors/${name}`, import.meta.url)),
  );
  expect(execFileSync("sh", [script], { encoding: "utf8" })).toBe(readFileSync(written, "utf8"));
});
