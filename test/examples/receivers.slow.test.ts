import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { EXAMPLES, FOLDER, pathOf } from "./receivers.ts";
import { failedMusts, story, verified } from "./verified.ts";
import { ALL } from "../helpers/run/sizes.ts";

/**
 * With `npm run test:all` one receiver is judged by every check, and each of the others by what it needs no options for; in
 * the long run all of them many times, by every check, with their effects read back.
 */
const ROUNDS = Number(process.env["VERIFY_ROUNDS"] ?? 1);
const IS_LONG_RUN = ROUNDS > 1;
const THOROUGHLY_JUDGED = "node-http.ts";
const rounds = Array.from({ length: ROUNDS }, (_, index) => index + 1);

for (const { file, absent } of EXAMPLES) {
  if (absent !== undefined) process.stdout.write(`skipped: examples/receivers/${file}, since ${absent}\n`);
}

describe.concurrent("verify finds nothing wrong with a conventional receiver", () => {
  // First: it takes longest, and the others run beside it.
  const observed = EXAMPLES.filter(({ file }) => IS_LONG_RUN || file === THOROUGHLY_JUDGED);
  for (const example of observed) {
    test.runIf(ALL && example.absent === undefined)(
      `with its effects read back, and killed, in ${example.file}`,
      async ({ expect }) => {
        for (const round of rounds) {
          const report = await verified(example, { observe: true });
          const unverified = report.results.filter(({ outcome }) => outcome === "unverified");
          expect({ round, failed: failedMusts(report), unverified }, story(report)).toEqual({
            round,
            failed: [],
            unverified: [],
          });
        }
      },
      60_000 + ROUNDS * 60_000,
    );
  }

  for (const example of EXAMPLES.filter(({ file }) => IS_LONG_RUN || file !== THOROUGHLY_JUDGED)) {
    test.runIf(ALL && example.absent === undefined)(
      `without options, in ${example.file}`,
      async ({ expect }) => {
        for (const round of rounds) {
          const report = await verified(example, { brief: !IS_LONG_RUN });
          expect({ round, failed: failedMusts(report), verdict: report.verdict }, story(report)).toEqual({
            round,
            failed: [],
            verdict: "passed",
          });
        }
      },
      60_000 + ROUNDS * 30_000,
    );
  }
});

describe("the examples", () => {
  test("are starting points, read in a minute: below 80 lines", () => {
    const long = EXAMPLES.filter((example) => readFileSync(pathOf(example), "utf8").split("\n").length > 80);
    expect(long.map(({ file }) => file)).toEqual([]);
  });

  test("are all judged here, and all listed for those who look for one", () => {
    const files = EXAMPLES.map(({ file }) => file).toSorted();
    expect(readdirSync(FOLDER).toSorted()).toEqual(files);
    const page = readFileSync(`${FOLDER}../README.md`, "utf8");
    expect(files.filter((file) => !page.includes(`](receivers/${file})`))).toEqual([]);
  });
});
