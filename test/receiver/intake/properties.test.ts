import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseEnvelope } from "../../../receiver/intake/inbox.ts";

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 1_000) };
const bytes = fc.uint8Array({ maxLength: 300 });

test("the parser of envelopes returns a result for any bytes and any JSON", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        bytes,
        fc.json({ maxDepth: 8 }).map((text) => Buffer.from(text)),
      ),
      (body) => {
        const parsed = parseEnvelope(body);
        expect(parsed.ok || ["invalid_json", "invalid_event"].includes(parsed.error)).toBe(true);
      },
    ),
    RUNS,
  );
});

test("an envelope is an event exactly when it has an id, a type, and at most 64 levels", () => {
  const level = fc.integer({ min: 1, max: 130 });
  fc.assert(
    fc.property(
      fc.stringMatching(/^[0-9a-fA-F]{30,34}$/),
      fc.option(fc.string()),
      level,
      fc.string(),
      (hex, type, levels, text) => {
        // A string full of brackets must not count.
        const deep = `${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}` || "0";
        const body = Buffer.from(
          `{"note":${JSON.stringify(`[[{{"\\${text}`)},"id":"evt_${hex}","type":${JSON.stringify(type)},"deep":${deep}}`,
        );
        expect(parseEnvelope(body).ok).toBe(hex.length === 32 && type !== null && levels <= 64);
      },
    ),
    RUNS,
  );
});
