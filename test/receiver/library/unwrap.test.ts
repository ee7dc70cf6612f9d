import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import {
  signForTest,
  unwrap,
  verifySignature,
  WebhookError,
  type WebhookEvent,
} from "../../../receiver/index.ts";
import { newBody, SECRET, signatureFor } from "../helpers/events.ts";

/** The functions for users who use neither our inbox nor our handlers. */

test("verifySignature returns the result, and the reason of a refusal", () => {
  const body = newBody();
  const header = signatureFor(body);
  const secrets = [SECRET];
  expect(verifySignature({ body, header, secrets: SECRET })).toMatchObject({ ok: true, secretIndex: 0 });
  const rotated = verifySignature({ body, header: [header], secrets: ["other", SECRET] });
  expect(rotated).toMatchObject({ ok: true, secretIndex: 1 });
  expect(verifySignature({ body: body.toString(), header, secrets })).toMatchObject({ ok: true });
  for (const [given, reason] of [
    [{ header: undefined }, "header_missing"],
    [{ header: null }, "header_missing"],
    [{ header: "" }, "header_empty"],
    [{ header: [header, header] }, "header_repeated"],
    [{ secrets: [] }, "secret_missing"],
    [{ secrets: "" }, "secret_missing"],
    [{ secrets: [SECRET, " "] }, "secret_missing"],
    [{ nowMs: Number.NaN }, "timestamp_too_old"],
    [{ body: Buffer.concat([body, body]) }, "no_match"],
    [{ nowMs: Date.now() + 302_000 }, "timestamp_too_old"],
    [{ nowMs: Date.now() - 302_000 }, "timestamp_too_new"],
  ] as const)
    expect(verifySignature({ body, header, secrets, ...given })).toEqual({ ok: false, reason });
});

test("verifySignature takes bytes in any form, and never throws for any argument", () => {
  const body = newBody();
  const header = signatureFor(body);
  const { buffer, byteOffset, byteLength } = body;
  const forms: unknown[] = [new Uint8Array(body).buffer, new DataView(buffer, byteOffset, byteLength)];
  forms.push(runInNewContext("Uint8Array.from(bytes)", { bytes: [...body] }));
  forms.push(runInNewContext("Uint8Array.from(bytes).buffer", { bytes: [...body] }));
  const verified = (changes: object) => verifySignature({ body, header, secrets: SECRET, ...changes });
  expect(forms.map((form) => verified({ body: form }).ok)).toEqual(forms.map(() => true));

  const odd = [undefined, null, 7, Number.NaN, {}, [], [[]], () => "", Symbol("s"), 1n, new Date(0)];
  const throwing = Object.defineProperty({}, "body", { get: () => expect.unreachable() });
  for (const value of odd) {
    expect(verified({ body: value })).toEqual({ ok: false, reason: "body_unusable" });
    expect(verified({ secrets: value })).toEqual({ ok: false, reason: "secret_missing" });
    expect(verified({ header: value }).ok).toBe(false);
    expect(verifySignature(value as never)).toEqual({ ok: false, reason: "body_unusable" });
  }
  expect(verifySignature(throwing as never)).toEqual({ ok: false, reason: "body_unusable" });
});

test("signForTest makes the header that the service would send", () => {
  const body = newBody().toString();
  const secrets = SECRET;
  expect(verifySignature({ body, header: signForTest({ body, secret: SECRET }), secrets }).ok).toBe(true);
  const nowMs = 1_790_000_000_999;
  const header = signForTest({ body, secret: SECRET, nowMs });
  expect(header).toBe(signatureFor(Buffer.from(body), { timestampSeconds: 1_790_000_000 }));
  expect(() => signForTest({ body, secret: " " })).toThrow("blank");
});

test.each([
  [300_000, true],
  [300_001, true],
  [300_999, true],
  [301_000, "timestamp_too_old"],
  [-300_000, true],
  // A millisecond before the next full second, it is 301 whole seconds away.
  [-300_001, "timestamp_too_new"],
  [-301_000, "timestamp_too_new"],
])("a signature is %i ms old, counted in whole seconds of its machine: %s", (ageMs, expected) => {
  const timestampSeconds = 1_790_000_000;
  const body = newBody();
  const header = signatureFor(body, { timestampSeconds });
  const nowMs = timestampSeconds * 1_000 + ageMs;
  const verified = verifySignature({ body, header, secrets: SECRET, nowMs });
  expect(verified.ok || verified.reason).toBe(expected);
});

describe("unwrap", () => {
  test("gives the event, typed by its type", () => {
    const body = newBody("call.completed");
    const event: WebhookEvent = unwrap({ body, header: signatureFor(body), secrets: SECRET });
    expect(event).toEqual(JSON.parse(body.toString()));
    if (event.type !== "call.completed") throw new Error("Another type.");
    const seconds: number = event.data.object.duration_sec;
    expect(seconds).toEqual(expect.any(Number));
  });

  const caught = (change: (signed: Parameters<typeof unwrap>[0]) => object): unknown => {
    const body = newBody();
    const signed = { body, header: signatureFor(body), secrets: [SECRET] };
    try {
      unwrap({ ...signed, ...change(signed) });
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test.each<[string, (signed: Parameters<typeof unwrap>[0]) => object, string, RegExp]>([
    [
      "a body that was parsed",
      ({ body }) => ({ body: JSON.parse(Buffer.from(body as Uint8Array).toString()) as object }),
      "body_unusable",
      /raw bytes.*express\.raw/,
    ],
    ["another secret", () => ({ secrets: "other" }), "no_match", /endpoint's own secret.*byte for byte/],
    ["no header", () => ({ header: undefined }), "header_missing", /Does a proxy drop it/],
    ["a wrong clock", () => ({ nowMs: Date.now() - 400_000 }), "timestamp_too_new", /future.*clock/],
    ["an old delivery", () => ({ nowMs: Date.now() + 400_000 }), "timestamp_too_old", /recorded request/],
  ])("names the likely cause of %s", (_name, change, reason, words) => {
    const error = caught(change);
    expect(error).toBeInstanceOf(WebhookError);
    expect(error).toMatchObject({ name: "WebhookError", reason, message: expect.stringMatching(words) });
  });

  test.each([
    ["no JSON", "{", "invalid_json"],
    ["no event", '{"id":"evt_1","type":"x"}', "invalid_event"],
  ])("refuses a signed body that is %s", (_name, text, reason) => {
    const body = Buffer.from(text);
    expect(caught(() => ({ body, header: signatureFor(body) }))).toMatchObject({ reason });
  });
});
