import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import { verifyCli } from "./cli.ts";
import { freePort } from "./free-port.ts";

const receiver = (name: string): string => fileURLToPath(new URL(`receivers/${name}`, import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) process.stdout.write("skipped: the receiver in Python, since there is no python3 here\n");

type Summary = { verdict: string; notPassed: string[]; failed: number; unverified: number; not_run: number };

const EVERYTHING_PASSED: Summary = { verdict: "passed", notPassed: [], failed: 0, unverified: 0, not_run: 0 };

describe.concurrent("a correct receiver passes everything", () => {
  test("in plain node:http", async ({ expect }) => {
    expect(await judged([process.execPath, receiver("node-http.ts")])).toEqual(EVERYTHING_PASSED);
  }, 180_000);

  test("in Express", async ({ expect }) => {
    expect(await judged([process.execPath, receiver("express.ts")])).toEqual(EVERYTHING_PASSED);
  }, 180_000);

  // Its events are on disk, so that the checks that kill it pass as well.
  test.skipIf(!hasPython)(
    "in Python's standard library, killed too",
    async ({ expect }) => {
      const folder = await mkdtemp(join(tmpdir(), "verify-python-"));
      const env = { DATABASE: join(folder, "events.db") };
      expect(await judged(["python3", receiver("receiver.py")], env, [])).toEqual(EVERYTHING_PASSED);
      await rm(folder, { recursive: true });
    },
    240_000,
  );
});

/** Lets the command form judge a receiver, effects included. */
async function judged(
  command: string[],
  env: Record<string, string> = {},
  options = ["--skip", "crash"],
): Promise<Summary> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const words = ["--url", `${url}/webhooks`, "--observe", `${url}/handled/{id}`, "--json", ...options];
  const { stdout } = await verifyCli([...words, "--", ...command], env);
  const report = JSON.parse(stdout) as {
    verdict: string;
    summary: { failed: number; unverified: number; not_run: number };
    checks: { id: string; outcome: string; explanation?: string }[];
  };
  const { failed, unverified, not_run } = report.summary;
  const notPassed = report.checks
    .filter(({ outcome }) => outcome !== "passed")
    .map(({ id, outcome, explanation = "" }) => `${id} ${outcome}: ${explanation}`);
  return { verdict: report.verdict, notPassed, failed, unverified, not_run };
}
