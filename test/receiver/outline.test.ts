import * as fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { anyCharacter } from "../helpers/any-character.ts";
import { parseEnvelope } from "../../receiver/intake/envelope.ts";
import { outline } from "../../receiver/intake/outline.ts";

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 1_000) };

describe("the outline of JSON", () => {
  const READ = { id: true, data: { object: { id: true } } } as const;
  type Read = { id?: unknown; data?: { object?: { id?: unknown } } };

  /** What is read of a value; a text where there is one, and nothing where there are parts. */
  function readOf(value: Read | undefined): unknown[] {
    const scalar = (held: unknown): unknown => (typeof held === "object" && held !== null ? "parts" : held);
    return [scalar(value?.id), scalar(value?.data?.object?.id)];
  }

  const parsed = (text: string): { value: unknown } | undefined => {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return undefined;
    }
  };

  /** Values whose members have the names that are read, some of them twice. */
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.json({ maxDepth: 1, stringUnit: anyCharacter }),
      fc.constantFrom("-0.5e+10", "1E5", "true", String.raw`"\u0069\n\"\ud800"`, '"\u{1f355}"'),
      fc.array(tie("value")).map((items) => `[ ${items.join(" ,\n")}\t]`),
      fc
        .array(
          fc.tuple(
            fc.constantFrom(
              '"id"',
              '"data"',
              '"object"',
              '"x"',
              String.raw`"\u0069d"`,
              String.raw`"i\u0064x"`,
            ),
            tie("value"),
          ),
        )
        .map((members) => `{${members.map(([name, held]) => `${name} : ${String(held)}`).join(",")} }`),
    ),
  }));
  const json = value.map(String);

  test("reads what JSON.parse reads", () => {
    fc.assert(
      fc.property(json, (text) => {
        const outlined = outline(Buffer.from(text), READ, 1_000);
        expect(outlined).toBeDefined();
        expect(readOf(parsed(outlined ?? "")?.value as Read)).toEqual(readOf(parsed(text)?.value as Read));
      }),
      RUNS,
    );
  });

  test("takes no text that JSON.parse doesn't, whichever byte of it is changed, lost or added", () => {
    const change = fc.tuple(fc.nat(), fc.nat(1), fc.constantFrom(...'"\\{}[],:0.-+eEut \n\u0001'.split("")));
    fc.assert(
      fc.property(json, change, (text, [place, lost, added]) => {
        const at = place % (text.length + 1);
        const changed = text.slice(0, at) + added + text.slice(at + lost);
        const taken = outline(Buffer.from(changed), READ, 1_000) !== undefined;
        expect(taken).toBe(parsed(changed) !== undefined);
      }),
      RUNS,
    );
  });

  const FLAWS =
    String.raw`{"id":1,} [1,] {,} [,] {"id"} {"id":} {"id" 1} {id:1} {"a":1_"b":2} [1_2] {"id":1}} [ { " "\ "\u00 "\u00g0" "\x" 01 -01 - 1. .5 1e 1e+ +1 nul truee """" 1_2 _`.split(
      " ",
    );

  test.each(FLAWS)("takes no %s", (flaw) => {
    const text = flaw.replaceAll("_", " ");
    expect(parsed(text)).toBeUndefined();
    expect(outline(Buffer.from(text), READ, 64)).toBeUndefined();
  });

  test("ends at the level that it is given", () => {
    const nested = (levels: number): Buffer => Buffer.from("[".repeat(levels) + "]".repeat(levels));
    const inObjects = (levels: number): Buffer =>
      Buffer.from(`${'{"a":'.repeat(levels)}0${"}".repeat(levels)}`);
    for (const made of [nested, inObjects]) {
      expect(outline(made(64), READ, 64)).toBeDefined();
      expect(outline(made(65), READ, 64)).toBeUndefined();
      expect(outline(made(500_000), READ, 64)).toBeUndefined();
    }
  });

  /** The bytes of it that are looked at, one after the other or as a text. */
  function counted(json: Buffer): { json: Buffer; looked: () => number; built: () => number } {
    let looked = 0;
    let built = 0;
    const watched = new Proxy(json, {
      get: (bytes, name) => {
        if (name === "length") return bytes.length;
        if (name === "toString")
          return (encoding: BufferEncoding, from: number, to: number) => {
            looked += to - from;
            if (encoding === "utf8") built += 1;
            return bytes.toString(encoding, from, to);
          };
        if (name === "subarray")
          return (from: number, to: number) => {
            looked += to - from;
            return bytes.subarray(from, to);
          };
        looked += 1;
        return bytes[Number(name)];
      },
    });
    return { json: watched, looked: () => looked, built: () => built };
  }

  // What takes a turn of the loop for a megabyte of the worst, without a clock; the time itself is for the long runs.
  test.each([
    ["keys", `"x":1${Array.from({ length: 2_000 }, (_, at) => `,"k${String(at)}":${String(at)}`).join("")}`],
    ["keys of a wanted length", `"x":1${`,"ix":0`.repeat(2_000)}`],
    ["wanted members", `"id":"a"${`,"id":"a"`.repeat(2_000)}`],
    ["brackets", `"x":[${"[],{},".repeat(2_000)}0]`],
    ["brackets in brackets", `"x":[${`${"[".repeat(30)}${"]".repeat(30)},`.repeat(200)}0]`],
    ["objects in objects", `"x":[${`${'{"":'.repeat(30)}0${"}".repeat(30)},`.repeat(100)}0]`],
    ["escapes", `"x":"${String.raw`\u0041\n`.repeat(1_500)}"`],
    ["digits", `"x":[${"1234567890,".repeat(1_000)}0]`],
    ["blanks", `"x":[${"0 \n\t ,  ".repeat(1_000)}0]`],
  ])("looks at no byte of many %s more than five times", (_name, members) => {
    const { json, looked, built } = counted(Buffer.from(`{${members},"id":"evt_1"}`));
    expect(outline(json, READ, 64)).toContain('"id":"evt_1"');
    expect(looked() / json.length).toBeGreaterThan(1);
    expect(looked() / json.length).toBeLessThan(5);
    expect(built()).toBe(1);
  });
});

test("of a large body nothing is built but what is read", () => {
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  const fields = Array.from({ length: 9_000 }, (_, at) => `,"k${String(at)}":${String(at)}`).join("");
  const text = `{"id":"evt_${"a".repeat(32)}","type":"t","data":{"object":{"id":"call_1"${fields}}}}`;
  expect(parseEnvelope(Buffer.from(text))).toMatchObject({ ok: true, objectId: "call_1" });
  expect(parse.mock.calls.map(([json]) => json)).toEqual([text.replace(fields, "")]);
});

test.each([1, 70_000])(
  "an envelope with a text of %i characters says the same, and is judged the same",
  (length) => {
    const long = JSON.stringify("x".repeat(length));
    const id = `evt_${"a".repeat(32)}`;
    const answers = [
      `{"text":${long},"data":{"object":{"x":[],"id":"call_1"}},"id":"${id}","type":"t"}`,
      `{"text":${long},"data":7,"id":"${id}","type":"t"}`,
      `{"text":${long},"data":{"object":{"id":1}},"id":"x","id":"${id}","type":"t"}`,
      `{"text":${long},"id":{},"type":"t"}`,
      `{"text":${long},"id":"${id}","type":null}`,
      `{"text":${long},"id":"${id}","type":"t","deep":${"[".repeat(64)}${"]".repeat(64)}}`,
      `{"text":${long},"id":"${id}","type":"t","deep":${"[".repeat(64)}${"]".repeat(63)}}`,
      `[${long}]`,
      long,
      `\ufeff{"text":${long},"id":"${id}","type":"t"}`,
    ].map((text) => parseEnvelope(Buffer.from(text)));
    expect(answers).toEqual([
      { ok: true, id, type: "t", objectId: "call_1" },
      { ok: true, id, type: "t", objectId: null },
      { ok: true, id, type: "t", objectId: null },
      { ok: false, error: "invalid_event", message: expect.stringContaining("id") },
      { ok: false, error: "invalid_event", message: expect.stringContaining("type") },
      { ok: false, error: "invalid_event", message: expect.stringContaining("64 levels") },
      { ok: false, error: "invalid_json", message: expect.any(String) },
      { ok: false, error: "invalid_event", message: expect.any(String) },
      { ok: false, error: "invalid_event", message: expect.any(String) },
      { ok: false, error: "invalid_json", message: expect.any(String) },
    ]);
  },
);
