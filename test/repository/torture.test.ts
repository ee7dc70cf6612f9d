import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { plan } from "../torture/plan.ts";
import { BUGS } from "../torture/planted/bugs.ts";
import { KINDS } from "../torture/planted/planted-bug.ts";
import type { Run } from "../torture/run.ts";
import { RUNS } from "../torture/runs.ts";
import { reportSchema, withFigures } from "../torture/report.ts";
import { ROOT } from "./files.ts";

function run(name: string, minutes: number, pace?: Run["pace"]): Run {
  return { name, minutes, script: "", ...(pace === undefined ? {} : { pace }) };
}

describe("the plan of the long runs", () => {
  test("gives what is left beside the fixed ones to the others, alike, and keeps a reserve", () => {
    const runs = [run("a", 10), run("fixed", 4, "fixed"), run("b", 30), run("alone", 1, "alone")];
    const { inTurn, minutes } = plan([...runs, run("soak", 30, "beside")], 50);
    expect(inTurn.map(({ run: { name }, size }) => [name, size])).toEqual([
      ["alone", 1],
      ["a", (46.5 - 5) / 40],
      ["fixed", 1],
      ["b", (46.5 - 5) / 40],
    ]);
    expect(minutes).toBeCloseTo(46.5);
  });

  test("plays what stands beside for as long as the others take without those that want to be alone", () => {
    const { beside } = plan([run("a", 10), run("alone", 1, "alone"), run("soak", 30, "beside")], 20);
    expect(beside).toHaveLength(1);
    expect(beside[0]?.minutes).toBeCloseTo(17.6);
    expect(beside[0]?.size).toBeCloseTo(17.6 / 30);
    expect(plan([run("soak", 30, "beside")], 10).beside[0]?.minutes).toBeCloseTo(9.3);
  });

  test("fits into half an hour, all of it", () => {
    expect(plan(RUNS, 30).minutes).toBeLessThanOrEqual(28);
  });
});

describe("the figures of a report", () => {
  const report = reportSchema.parse({
    date: "2026-03-01T12:00:00.000Z",
    commit: "abc1234",
    machine: { cores: 2, model: "a processor", node: "v24.0.0" },
    seed: 7,
    minutes: 30,
    runs: [
      { name: "kill -9", ok: true, seconds: 61.4, figures: { tests: "3 passed", cycles: "200" } },
      { name: "drain", ok: false, seconds: 9, figures: {} },
    ],
    busy: [
      { commit: "abc1234", runs: 12, failed: 0 },
      { commit: "def5678", runs: 3, failed: 1 },
    ],
  });

  test("take the place of those that the page had, and say where and when", () => {
    const page = readFileSync("docs/reliability.md", "utf8");
    const written = withFigures(page, report) ?? "";
    expect(written).toContain(
      "On 2026-03-01, at commit `abc1234`, on 2 cores (a processor), Node.js v24.0.0: 2 runs, for which 30 minutes were given, with seed 7; 1 of them failed.",
    );
    expect(written).toContain("| kill -9           | 61 s | tests 3 passed; cycles 200 |");
    expect(written).toContain("| **drain: failed** | 9 s  |                            |");
    expect(written).toContain("each: 12 at `abc1234`, all green; 3 at `def5678`, of which 1 failed.");
    expect(withFigures(written, report)).toBe(written);
    expect(written.length - page.length).toBeLessThan(2_000);
  });

  test("are those of a report from before there were notebooks, too", () => {
    const { busy: _busy, ...earlier } = report;
    expect(
      withFigures(readFileSync("docs/reliability.md", "utf8"), reportSchema.parse(earlier)),
    ).not.toContain("All tests beside");
  });

  test("want a place", () => {
    expect(withFigures("# A page", report)).toBeUndefined();
  });
});

test("each planted bug has its place in the code, once", () => {
  const lost = BUGS.filter(({ file, find }) => readFileSync(ROOT + file, "utf8").split(find).length !== 2);
  expect(lost.map(({ file, breaks }) => `${file}: ${breaks}`)).toEqual([]);
});

test.each(KINDS)("a dozen planted bugs are of the kind %s", (kind) => {
  expect(BUGS.filter((bug) => bug.kind === kind).length).toBeGreaterThanOrEqual(12);
});
