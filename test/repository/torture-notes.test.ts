import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { busyRuns, greenInARow } from "../torture/busy-runs.ts";
import { createNotebook } from "../torture/notebook.ts";
import { createRecord } from "../torture/planted/record.ts";

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

describe("the record of planted bugs", () => {
  test("knows a verdict and its commit until the code, the tests or the bug change", () => {
    const folder = temporaryDirectory();
    const [file, covering] = [join(folder, "code.ts"), join(folder, "code.test.ts")];
    writeFileSync(file, "a < b");
    writeFileSync(covering, "expect(a)");
    const bug = { what: "one off", file, find: "<", replace: "<=", tests: [covering, "-t", "words"] };
    const record = (commit: string, forget = false) => createRecord({ commit, forget, folder });

    expect(record("one").find(bug)).toBeUndefined();
    record("one").keep(bug, "survived");
    expect(record("two").find({ ...bug, what: "in other words" })).toMatchObject({
      verdict: "survived",
      commit: "one",
    });
    expect(record("two").find({ ...bug, replace: ">" })).toBeUndefined();
    expect(record("two", true).find(bug)).toBeUndefined();

    writeFileSync(covering, "expect(a).toBe(1)");
    expect(record("two").find(bug)).toBeUndefined();
    record("two").keep(bug, "caught");
    expect(record("three").find(bug)).toMatchObject({ verdict: "caught", commit: "two" });

    writeFileSync(file, "a < b && c");
    expect(record("three").find(bug)).toBeUndefined();
  });

  test("is of the code as it was when the bug was planted, and keeps none that didn't fit", () => {
    const folder = temporaryDirectory();
    const file = join(folder, "code.ts");
    writeFileSync(file, "a < b");
    const bug = { what: "one off", file, find: "<", replace: "<=", tests: ["-t", "words"] };
    const record = createRecord({ commit: "one", forget: false, folder });
    record.find(bug);
    writeFileSync(file, "a < b // edited meanwhile");
    record.keep(bug, "caught");
    expect(createRecord({ commit: "one", forget: false, folder }).find(bug)).toBeUndefined();

    record.keep({ ...bug, replace: ">" }, "misfit");
    expect(
      createRecord({ commit: "one", forget: false, folder }).find({ ...bug, replace: ">" }),
    ).toBeUndefined();
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
