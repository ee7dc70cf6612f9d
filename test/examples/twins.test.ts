import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ROOT } from "../repository/files.ts";
import { EXAMPLES, pathOf } from "./receivers.ts";
import { type Twin, TWINS } from "./twins.ts";
import { story, verifiedBy } from "./verified.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "twins-"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
});

afterAll(() => rmSync(folder, { recursive: true }));

describe.concurrent("verify without options fails a receiver that is nearly right", () => {
  for (const [index, twin] of TWINS.entries()) {
    const { of, mistake, caughtBy } = twin;
    const example = EXAMPLES.find(({ file }) => file === of);
    if (example === undefined) throw new Error(`There is no example ${of}.`);

    test.skipIf(example.absent !== undefined)(
      `in ${of} that ${mistake}: ${caughtBy}`,
      async ({ expect }) => {
        const path = join(folder, `twin-${index}-${of}`);
        writeFileSync(path, changed(readFileSync(pathOf(example), "utf8"), twin));
        const { report, evidence, repeated } = await verifiedBy(caughtBy, example, path);

        const failed = report.results.filter(({ outcome }) => outcome === "failed");
        expect(
          failed.map(({ check }) => check.id),
          story(report),
        ).toEqual([caughtBy]);
        expect(report.verdict, "the check is advice, so the run without options passes").toBe("failed");
        // How it was cut into pieces is all that matters there, and no curl can do that.
        if (evidence?.request.note !== undefined) return;
        const status = evidence?.outcome.kind === "answered" ? evidence.outcome.status : "no answer";
        expect(repeated, "the printed curl ends otherwise").toMatch(
          new RegExp(`^HTTP/1\\.[01] ${status}\\b`),
        );
      },
      60_000,
    );
  }
});

function changed(source: string, { of, changes }: Twin): string {
  return changes.reduce((text, { find, replace }) => {
    const parts = text.split(find);
    if (parts.length !== 2) throw new Error(`${of} holds ${JSON.stringify(find)} ${parts.length - 1} times.`);
    return parts.join(replace);
  }, source);
}
