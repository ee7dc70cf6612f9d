import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { busyRuns, greenInARow } from "../torture/busy-runs.ts";
import { createNotebook } from "../torture/notebook.ts";
import { testsOutcome } from "../torture/tests-outcome.ts";

describe("the notebook of long runs", () => {
  const schema = z.object({ n: z.int() });

  test("keeps what several write, and passes over a line that was cut off or is of another version", () => {
    const folder = join(temporaryDirectory(), "not", "there", "yet");
    const [one, other] = [createNotebook("a", schema, folder), createNotebook("a", schema, folder)];
    expect(one.read()).toEqual([]);
    one.add({ n: 1 });
    other.add({ n: 2 });
    appendFileSync(one.file, '{"n":"three"}\n{"n":\n');
    one.add({ n: 4 });
    expect(other.read()).toEqual([{ n: 1 }, { n: 2 }, { n: 4 }]);
    expect(createNotebook("b", schema, folder).read()).toEqual([]);
  });
});

test("runs on a busy machine are counted by commit, and in a row since one failed", () => {
  const play = (commit: string, ...failed: string[]) => ({ commit, seconds: 1, failed });
  const plays = [play("a"), play("b"), play("a", "a test > that failed", "another"), play("b"), play("c")];
  expect(busyRuns([])).toEqual([]);
  expect(busyRuns(plays)).toEqual([
    { commit: "a", runs: 2, failed: 1 },
    { commit: "b", runs: 2, failed: 0 },
    { commit: "c", runs: 1, failed: 0 },
  ]);
  expect([[], plays.slice(0, 2), plays.slice(0, 3), plays].map(greenInARow)).toEqual([0, 2, 0, 2]);
});

test.each([
  ["passed", 0, " Test Files  1 passed (1)\n      Tests  2 passed | 30 skipped (32)\n"],
  ["failed", 1, " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n"],
  ["failed", 1, "      Tests  32 skipped (32)\n"],
  ["failed", null, ""],
  [
    "nothing ran",
    0,
    "\u001b[2m Test Files \u001b[22m 1 skipped (1)\n\u001b[2m      Tests \u001b[22m 32 skipped (32)\n",
  ],
  ["nothing ran", 1, "Error: no such file\n"],
  ["nothing ran", 1, "      Tests  no tests\n"],
])("tests that %s are told by code %j and %j", (outcome, code, printed) => {
  expect(testsOutcome(code, printed)).toBe(outcome);
});
