import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { sampleEnvelope } from "../../../shared/samples.ts";
import { diagnose } from "../../../simulator/explain/diagnose.ts";

const secret = "whsec_0123456789abcdef0123456789abcdef0123456789abcdef";
const t = "1769882709";
const nowSeconds = Number(t) + 5;
const envelope = { ...sampleEnvelope("voicemail.created"), note: "Grüße <b>&</b> https://example.com/ä" };
const text = JSON.stringify(envelope);
const body = Buffer.from(text);

function hex(key: string | Buffer, message: string | Buffer, algorithm = "sha256"): string {
  return createHmac(algorithm, key).update(message).digest("hex");
}

function joined(...parts: (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
}

const right = hex(secret, joined(`${t}.`, body));
const header = `t=${t},v1=${right}`;

/** Diagnoses what was received. */
function examine(more: Partial<Parameters<typeof diagnose>[0]>) {
  const diagnosis = diagnose({ header, body, secret, nowSeconds, ...more });
  return { ...diagnosis, ids: diagnosis.findings.map(({ id }) => id) };
}

/** The output of Python's json.dumps with its defaults, implemented independently of the code under test. */
function pythonDumps(value: unknown): string {
  const json = JSON.stringify(value, null, 1)
    .replaceAll(/,\n\s*/g, ", ")
    .replaceAll(/([[{])\n\s*/g, "$1")
    .replaceAll(/\n\s*([\]}])/g, "$1");
  return escapeNonAscii(json);
}

function escapeNonAscii(json: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replaceAll(/[\u007f-\uffff]/g, escaped);
}

function sortKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]));
}

/** The output of Python's repr() for these bytes, between its quotes. */
function pythonEscaped(json: string): string {
  return Array.from(Buffer.from(json), (byte) => {
    if (byte === 0x27 || byte === 0x5c) return `\\${String.fromCharCode(byte)}`;
    return byte < 0x7f && byte >= 0x20 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`;
  }).join("");
}

describe("a mistake in the user's code is named from the digest that it computed", () => {
  const wrong: [string, string][] = [
    ["body-reserialized-indent-2", hex(secret, `${t}.${JSON.stringify(envelope, null, 2)}`)],
    ["body-reserialized-indent-4", hex(secret, `${t}.${JSON.stringify(envelope, null, 4)}`)],
    ["body-reserialized-python", hex(secret, `${t}.${pythonDumps(envelope)}`)],
    ["body-reserialized-sorted", hex(secret, `${t}.${JSON.stringify(sortKeys(envelope))}`)],
    ["body-reserialized-ascii", hex(secret, `${t}.${escapeNonAscii(text)}`)],
    ["body-reserialized-slashes", hex(secret, `${t}.${text.replaceAll("/", "\\/")}`)],
    ["body-reserialized-php", hex(secret, `${t}.${escapeNonAscii(text).replaceAll("/", "\\/")}`)],
    [
      "body-reserialized-go",
      hex(
        secret,
        `${t}.${text.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026")}`,
      ),
    ],
    ["body-bom-added", hex(secret, joined(`${t}.`, Buffer.from([0xef, 0xbb, 0xbf]), body))],
    ["body-newline-added", hex(secret, `${t}.${text}\n`)],
    ["body-latin1", hex(secret, `${t}.${body.toString("latin1")}`)],
    ["body-base64", hex(secret, `${t}.${body.toString("base64")}`)],
    ["body-double-encoded", hex(secret, `${t}.${JSON.stringify(text)}`)],
    ["body-python-bytes", hex(secret, `${t}.b'${pythonEscaped(text)}'`)],
    ["body-url-encoded", hex(secret, `${t}.${encodeURIComponent(text)}`)],
    ["body-cut", hex(secret, joined(`${t}.`, body.subarray(0, 256)))],
    ["body-cut-characters", hex(secret, joined(`${t}.`, body.subarray(0, text.length)))],
    ["body-empty", hex(secret, `${t}.`)],
    ["body-object", hex(secret, `${t}.[object Object]`)],
    ["body-data-object", hex(secret, `${t}.${JSON.stringify(envelope.data.object)}`)],
    ["secret-newline", hex(`${secret}\n`, `${t}.${text}`)],
    ["secret-quoted", hex(`"${secret}"`, `${t}.${text}`)],
    ["secret-prefix-stripped", hex(secret.slice(6), `${t}.${text}`)],
    ["secret-base64-decoded", hex(Buffer.from(secret.slice(6), "base64"), `${t}.${text}`)],
    ["secret-hex-decoded", hex(Buffer.from(secret.slice(6), "hex"), `${t}.${text}`)],
    ["secret-empty", hex("", `${t}.${text}`)],
    ["secret-undefined", hex("undefined", `${t}.${text}`)],
    ["message-body-only", hex(secret, text)],
    ["message-no-period", hex(secret, `${t}${text}`)],
    ["message-separator-colon", hex(secret, `${t}:${text}`)],
    ["message-reversed", hex(secret, `${text}.${t}`)],
    ["message-key-included", hex(secret, `t=${t}.${text}`)],
    ["message-header-included", hex(secret, `${header}.${text}`)],
    ["message-event-id", hex(secret, `${envelope.id}.${t}.${text}`)],
    ["message-milliseconds", hex(secret, `${t}000.${text}`)],
    ["message-own-clock", hex(secret, `${nowSeconds - 300}.${text}`)],
    ["message-own-clock", hex(secret, `${nowSeconds + 300}.${text}`)],
    ["digest-sha1", hex(secret, `${t}.${text}`, "sha1")],
    ["digest-sha512", hex(secret, `${t}.${text}`, "sha512")],
    ["digest-secret-first", createHash("sha256").update(`${secret}${t}.${text}`).digest("hex")],
    ["digest-no-secret", createHash("sha256").update(`${t}.${text}`).digest("hex")],
    ["digest-swapped", hex(`${t}.${text}`, secret)],
    ["spelling-base64", Buffer.from(right, "hex").toString("base64")],
    ["spelling-upper-case", right.toUpperCase()],
  ];

  test.each(wrong)("%s", (id, computed) => {
    expect(examine({ computed })).toMatchObject({
      ids: [id],
      valid: false,
      explained: true,
      expected: right,
    });
  });

  test("two mistakes at once are both named", () => {
    const computed = hex(secret.slice(6), `${t}${text}`);
    expect(examine({ computed }).ids).toEqual(["secret-prefix-stripped", "message-no-period"]);
  });

  test("if the digest is correct, the comparison is the cause", () => {
    expect(examine({ computed: `sha256=${right}` })).toMatchObject({ valid: true, ids: ["comparison"] });
  });
});

describe("a changed body or secret is named from the header", () => {
  const changed: [string, { body?: Buffer | string; secret?: string }][] = [
    ["body-reserialized-compact", { body: JSON.stringify(envelope, null, 2) }],
    ["body-reserialized-compact", { body: pythonDumps(envelope) }],
    ["body-reserialized-compact", { body: text.replaceAll("/", "\\/") }],
    ["body-newline-removed", { body: `${text}\n` }],
    ["body-newline-removed", { body: `${text}\r\n` }],
    ["body-bom-removed", { body: joined(Buffer.from([0xef, 0xbb, 0xbf]), body) }],
    ["body-latin1-reversed", { body: body.toString("latin1") }],
    ["body-base64-decoded", { body: body.toString("base64") }],
    ["body-double-decoded", { body: JSON.stringify(text) }],
    ["secret-trimmed", { secret: `${secret}\n` }],
    ["secret-quotes-kept", { secret: `"${secret}"` }],
    ["secret-prefix-missing", { secret: secret.slice(6) }],
  ];

  test.each(changed)("%s (case %#)", (id, change) => {
    const given = { ...change, body: Buffer.from(change.body ?? body) };
    expect(examine(given)).toMatchObject({ ids: [id], explained: true });
  });
});

describe("a broken header is named, and its digest examined all the same", () => {
  const headers: [string, string[]][] = [
    [`t=${t}`, ["header-signature-missing"]],
    [`v1=${right}`, ["header-timestamp-missing"]],
    [`t=${t}, v1=${right}`, ["header-pair-malformed", "header-space"]],
    [`t=${t};v1=${right}`, ["header-timestamp-malformed", "header-separator"]],
    [`t=${t},t=${t},v1=${right}`, ["header-timestamp-repeated"]],
    [`t=0${t},v1=${right}`, ["message-number", "header-timestamp-malformed"]],
    [`t=${t},v1=sha256=${right}`, ["header-signature-malformed", "header-algorithm"]],
    [`t=${t},v1=${right.toUpperCase()}`, ["spelling-upper-case", "header-signature-malformed"]],
    [
      `t=${t},v1=${Buffer.from(right, "hex").toString("base64")}`,
      ["spelling-base64", "header-signature-malformed"],
    ],
    ["", ["header-empty"]],
  ];

  test.each(headers)("%s", (broken, ids) => {
    expect(examine({ header: broken })).toMatchObject({ ids, valid: false });
  });

  test("the name of the header may be pasted with it", () => {
    const pasted = `X-Service-Signature: ${header}\r\n`;
    expect(examine({ header: pasted })).toMatchObject({ ids: [], valid: true });
  });

  test("milliseconds in t are named, though their digest fits", () => {
    const digest = hex(secret, `${t}123.${text}`);
    const named = examine({ header: `t=${t}123,v1=${digest}` });
    expect(named).toMatchObject({ ids: ["timestamp-milliseconds"], valid: false });
  });

  test.each([
    ["timestamp-too-old", 301, false],
    ["", 300, true],
    ["", -300, true],
    ["timestamp-too-new", -301, false],
  ])("age %s: %d s", (id, ageSeconds, valid) => {
    const ids = id === "" ? [] : [id];
    expect(examine({ nowSeconds: Number(t) + ageSeconds })).toMatchObject({ ids, valid });
  });
});

test("a digest that no known mistake explains is reported as such, also with a number beyond a double", () => {
  const beyond = Buffer.from(text.replace(/}$/, ',"huge":1e400}'));
  const diagnosis = examine({ body: beyond, secret: "whsec_of_another_endpoint" });
  expect(diagnosis).toMatchObject({ valid: false, explained: false, findings: [] });
  expect(diagnosis.tried).toBeGreaterThan(1_000);
});

test("a correct digest for a header that does not verify points to another secret", () => {
  const other = `t=${t},v1=${hex("whsec_old", `${t}.${text}`)}`;
  const given = { header: other, computed: right };
  expect(examine(given)).toMatchObject({ explained: false, ids: ["other-secret"] });
  const late = examine({ ...given, nowSeconds: nowSeconds + 259_200 });
  expect(late.ids).toEqual(["other-secret", "timestamp-too-old"]);
  expect(late.findings[1]?.title).toContain("3 days in the past");
});

test.each([
  ["its beginning", (digest: string) => digest.slice(0, 32), ["cut-off"]],
  ["its end", (digest: string) => digest.slice(-63), ["cut-off"]],
  ["the least that is no chance", (digest: string) => digest.slice(0, 8), ["cut-off"]],
  ["too little to tell", (digest: string) => digest.slice(0, 7), []],
  ["its middle", (digest: string) => digest.slice(8, 40), []],
])("a computed digest that is only a piece of the right one, %s, is recognized", (_, cut, ids) => {
  expect(examine({ computed: cut(right) })).toMatchObject({ ids, valid: false, explained: ids.length > 0 });
});

test("json.dumps: floats and long integers as Python writes them", () => {
  const sent = '{"a":1.0,"b":0.00001,"c":12345678901234567890,"d":1e16,"e":-2.50}';
  const dumped = '{"a": 1.0, "b": 1e-05, "c": 12345678901234567890, "d": 1e+16, "e": -2.5}';
  const signed = `t=${t},v1=${hex(secret, `${t}.${sent}`)}`;
  const computed = hex(secret, `${t}.${dumped}`);
  expect(examine({ header: signed, body: Buffer.from(sent), computed }).ids[0]).toBe(
    "body-reserialized-python",
  );
});

test("signing only data.object is named, as Python serialises it and without t", () => {
  const computed = hex(secret, pythonDumps(envelope.data.object));
  expect(examine({ computed }).ids).toEqual(["body-data-object", "message-body-only"]);
});

test("a body that was form-decoded or cut off is named from the header alone", () => {
  expect(examine({ body: Buffer.from(encodeURIComponent(text)) }).ids[0]).toBe("body-url-decoded");
  expect(examine({ body: body.subarray(0, 300) }).ids[0]).toBe("body-incomplete");
});

test.each([" ", "=", '"'])("a long run of %j is examined in linear time", (piece) => {
  const long = `${piece.repeat(256 * 1024)}!`;
  const before = process.cpuUsage();
  examine({ body: Buffer.from(long), computed: long });
  examine({ header: header + long });
  const { user } = process.cpuUsage(before);
  // A quadratic algorithm takes half a minute.
  expect(user / 1e6).toBeLessThan(10);
});
