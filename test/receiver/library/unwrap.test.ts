import { describe, expect, test } from "vitest";
import { unwrap, verifySignature, WebhookError, type WebhookEvent } from "../../../receiver/index.ts";
import { newBody, SECRET, signatureFor } from "../helpers/events.ts";

/** What somebody uses who wants neither inbox nor handlers of us. */

test("verifySignature says whether, and why not", () => {
  const body = newBody();
  const header = signatureFor(body);
  const secrets = [SECRET];
  expect(verifySignature({ body, header, secrets: SECRET })).toMatchObject({ ok: true, secretIndex: 0 });
  expect(verifySignature({ body, header: [header], secrets: ["other", SECRET] })).toMatchObject({
    ok: true,
    secretIndex: 1,
  });
  expect(verifySignature({ body: body.toString(), header, secrets })).toMatchObject({ ok: true });
  for (const [given, reason] of [
    [{ header: undefined }, "header_missing"],
    [{ header: null }, "header_missing"],
    [{ header: "" }, "header_empty"],
    [{ header: [header, header] }, "header_repeated"],
    [{ secrets: [] }, "no_match"],
    [{ body: Buffer.concat([body, body]) }, "no_match"],
    [{ nowMs: Date.now() + 302_000 }, "timestamp_too_old"],
    [{ nowMs: Date.now() - 302_000 }, "timestamp_too_new"],
  ] as const)
    expect(verifySignature({ body, header, secrets, ...given })).toEqual({ ok: false, reason });
});

test.each([
  [300_000, true],
  [300_001, true],
  [300_999, true],
  [301_000, "timestamp_too_old"],
  [-300_000, true],
  // A millisecond before the next second it is 301 s away in whole ones.
  [-300_001, "timestamp_too_new"],
  [-301_000, "timestamp_too_new"],
])("a signature is %i ms old, counted in whole seconds of its machine: %s", (ageMs, expected) => {
  const timestampSeconds = 1_790_000_000;
  const body = newBody();
  const header = signatureFor(body, { timestampSeconds });
  const verified = verifySignature({
    body,
    header,
    secrets: SECRET,
    nowMs: timestampSeconds * 1_000 + ageMs,
  });
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

  test.each<[string, (signed: { body: Uint8Array | string }) => object, string, RegExp]>([
    [
      "a body that was parsed",
      ({ body }) => ({ body: JSON.parse(Buffer.from(body).toString()) as object }),
      "body_parsed",
      /raw bytes.*express\.raw/,
    ],
    ["another secret", () => ({ secrets: "other" }), "no_match", /endpoint's own secret.*byte for byte/],
    ["no header", () => ({ header: undefined }), "header_missing", /does a proxy drop it/],
    ["a wrong clock", () => ({ nowMs: Date.now() - 400_000 }), "timestamp_too_new", /clock/],
    ["an old delivery", () => ({ nowMs: Date.now() + 400_000 }), "timestamp_too_old", /recorded request/],
  ])("names the likely cause of %s", (_name, change, reason, words) => {
    const error = caught(change);
    expect(error).toBeInstanceOf(WebhookError);
    expect(error).toMatchObject({ name: "WebhookError", reason, message: expect.stringMatching(words) });
  });

  test.each([
    ["no JSON", "{", "invalid_json"],
    ["no event", '{"id":"evt_1","type":"x"}', "invalid_event"],
  ])("refuses what is signed and %s", (_name, text, reason) => {
    const body = Buffer.from(text);
    expect(caught(() => ({ body, header: signatureFor(body) }))).toMatchObject({ reason });
  });
});
