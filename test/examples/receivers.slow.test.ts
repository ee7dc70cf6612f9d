import { describe, test } from "vitest";
import { EXAMPLES } from "./receivers.ts";
import { failedMusts, story, verified } from "./verified.ts";

/**
 * With `npm run test:all` every check judges one receiver, and checks that need no options judge each of the others. The
 * long run judges all of them many times, by every check, with their effects read back.
 */
const ROUNDS = Number(process.env["VERIFY_ROUNDS"] ?? 1);
const IS_LONG_RUN = ROUNDS > 1;
const THOROUGHLY_JUDGED = "node-http.ts";
const rounds = Array.from({ length: ROUNDS }, (_, index) => index + 1);

for (const { file, absent } of EXAMPLES) {
  if (absent !== undefined) process.stdout.write(`skipped: examples/receivers/${file}, since ${absent}\n`);
}

describe.concurrent("verify finds nothing wrong with a conventional receiver", () => {
  // First, because it takes longest and the others run at the same time.
  const observed = EXAMPLES.filter(({ file }) => IS_LONG_RUN || file === THOROUGHLY_JUDGED);
  for (const example of observed) {
    test.runIf(example.absent === undefined)(
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
    test.runIf(example.absent === undefined)(
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
