import { describe, test } from "vitest";
import { changedCopy, exampleOf } from "./changed.ts";
import { ALSO_RIGHT } from "./also-right.ts";
import { MISSING_TOOLS } from "./languages.ts";
import { TWINS } from "./twins.ts";
import { failedMusts, story, verifiedBy } from "./verified.ts";

const IS_LONG_RUN = process.env["VERIFY_ROUNDS"] !== undefined;

for (const tool of MISSING_TOOLS)
  process.stdout.write(`skipped: pasting each curl into a shell, since there is no ${tool} here\n`);

describe.concurrent("verify without options fails a receiver that is nearly right", () => {
  for (const twin of TWINS) {
    const { of, mistake, caughtBy } = twin;
    const example = exampleOf(twin);
    test.skipIf(example.absent !== undefined)(
      `in ${of} that ${mistake}: ${caughtBy}`,
      async ({ expect, onTestFinished }) => {
        // By the check meant for it: what else sees it does not matter here, and costs time.
        const path = changedCopy(twin, onTestFinished);
        const { report, evidence, repeated } = await verifiedBy([caughtBy], example, path);

        expect(failedMusts(report), story(report)).toEqual([caughtBy]);
        expect(report.verdict).toBe("failed");
        if (MISSING_TOOLS.length > 0) return;
        const status = evidence?.outcome.kind === "answered" ? evidence.outcome.status : "no answer";
        const firstLine = new RegExp(`^HTTP/1\\.[01] ${status}\\b`);
        expect(repeated, "the printed curl ends otherwise").toMatch(firstLine);
      },
    );
  }
});

describe.concurrent("verify without options passes a receiver that is right in another way", () => {
  for (const other of ALSO_RIGHT.filter(({ slow }) => slow !== true || IS_LONG_RUN)) {
    const { of, difference, seenBy } = other;
    const example = exampleOf(other);
    test.skipIf(example.absent !== undefined)(
      `in ${of} that ${difference}`,
      async ({ expect, onTestFinished }) => {
        const { report } = await verifiedBy(seenBy, example, changedCopy(other, onTestFinished));
        expect(failedMusts(report), story(report)).toEqual([]);
        expect(report.verdict, story(report)).toBe("passed");
      },
    );
  }
});
