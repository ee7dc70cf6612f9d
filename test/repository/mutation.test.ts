import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { countByFolder, resultsSchema, survivors, tableOf, withMutants } from "../mutation/figures.ts";

const mutant = (status: string, line = 1) => ({
  mutatorName: "Number",
  replacement: "1\n  + 1",
  location: { start: { line } },
  status,
});
const results = resultsSchema.parse({
  files: {
    "a/one.ts": { mutants: [mutant("Killed"), mutant("Timeout"), mutant("Survived", 7), mutant("Ignored")] },
    "a/two.ts": { mutants: [mutant("NoCoverage", 9)] },
    "b/other.ts": { mutants: [mutant("Killed")] },
  },
});
const folders = [
  { folder: "a", files: ["a/one.ts", "a/two.ts", "a/untried.ts"] },
  { folder: "b", files: ["b/untried.ts"] },
];

test("what the mutation tester found is counted by folder, with the files that were tried", () => {
  expect(
    tableOf(countByFolder(results, folders))
      .split("\n")
      .map((line) => line.replaceAll(/ +/g, " ")),
  ).toEqual([
    "| Folder | Files tried | Changes | Caught | Survived | No test comes there | Score |",
    "| ------ | ----------- | ------- | ------ | -------- | ------------------- | ------ |",
    "| a | 2 of 3 | 4 | 2 | 1 | 1 | 50.0 % |",
    "| b | 0 of 1 | 0 | 0 | 0 | 0 | |",
    "| all | 2 of 4 | 4 | 2 | 1 | 1 | 50.0 % |",
    "",
  ]);
  expect(survivors(results)).toEqual([
    "a/one.ts:7 Survived Number: 1 + 1",
    "a/two.ts:9 NoCoverage Number: 1 + 1",
  ]);
});

test("its figures take the place of those that the page had", () => {
  const page = readFileSync("docs/reliability.md", "utf8");
  const written = withMutants(page, "On a day:\n\n| a |\n");
  expect(written?.replace(/<!-- mutants[^]*end of mutants -->/, "")).toBe(
    page.replace(/<!-- mutants[^]*end of mutants -->/, ""),
  );
  expect(written).toContain("\n\nOn a day:\n\n| a |\n\n<!-- end of mutants -->");
  expect(withMutants("nothing", "x")).toBeUndefined();
});
