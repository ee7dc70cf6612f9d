import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../helpers/any-character.ts";
import { startApi } from "./test-api.ts";

const RUNS = 150;

test("every request gets JSON with a status of the specification, and causes no internal error", async () => {
  const errors: unknown[] = [];
  const { get, world } = await startApi({ calls: 60, onError: (error) => errors.push(error) });
  const page = world.calls("org_5f2c81d0a7b94e63", { limit: 1 });
  const known = page.ok ? String(page.data[0]?.["id"]) : "";
  const value = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 20 }),
    fc.string({ maxLength: 20 }),
    fc.constantFrom(
      "1",
      "25",
      "100",
      "101",
      "-0",
      "true",
      "false",
      "voicemail",
      "null",
      "undefined",
      "[]",
      known,
    ),
  );
  const name = fc.oneof(
    fc.constantFrom("limit", "starting_after", "outcome", "reviewed", "limit[]", "__proto__", "constructor"),
    fc.string({ maxLength: 8 }),
  );
  const query = fc.array(fc.tuple(name, value), { maxLength: 5 });
  const path = fc.oneof(
    fc.constantFrom("/me", "/agents", "/calls", "/voicemails"),
    fc
      .string({ unit: anyCharacter, maxLength: 12 })
      .map((text) => `/${encodeURIComponent(text.toWellFormed())}`),
  );
  await fc.assert(
    fc.asyncProperty(path, query, async (path, query) => {
      const parameters = new URLSearchParams();
      for (const [key, text] of query) parameters.append(key, text);
      const { status, body, headers } = await get(`/api/v1${path}?${String(parameters)}`);
      expect([200, 400, 404]).toContain(status);
      expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
      const isError = typeof body["error"] === "string" && typeof body.message === "string";
      expect(isError).toBe(status !== 200);
    }),
    { numRuns: RUNS },
  );
  expect(errors).toEqual([]);
});
