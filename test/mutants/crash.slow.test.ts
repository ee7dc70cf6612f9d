import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import { createObserver } from "../../simulator/observer/observer.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import type { Timing } from "../../simulator/verify/timing.ts";
import { startReceiver } from "../../simulator/processes/receiver-process.ts";
import { freePort } from "../helpers/free-port.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { CRASH_MUTANTS } from "./crash-mutants.ts";
import { idsOf, QUICK, story } from "./judge.ts";

const SECRET = "whsec_crash";
const CHECKS = CATALOGUE.filter(({ group }) => group === "crash" || group === "production");

/** Bugs that the first kills reveal; with `npm run test:all` all of them. */
const QUICKLY_CAUGHT = ["forgets-ids", "starts-over", "does-not-restart", "logs-bodies"];
const JUDGED = Object.entries(CRASH_MUTANTS).filter(([name]) => ALL || QUICKLY_CAUGHT.includes(name));

describe("a receiver in a separate process", () => {
  test.concurrent("that stores before it answers loses nothing, handles nothing twice, and passes the production checks", async ({
    expect,
  }) => {
    const report = await judgeKilled("", { checks: CHECKS });
    expect(idsOf(report, "failed"), story(report)).toEqual([]);
    expect(idsOf(report, "unverified")).toEqual([]);
  });

  // A dozen processes at once is enough for two cores: the groups run one after another.
  describe.each(["crash", "production"])("in the group %s", (group) => {
    const ofGroup = JUDGED.filter(([, { caughtBy }]) => caughtBy.startsWith(`${group}.`));
    test.concurrent.each(ofGroup)("%s is caught, with its cause", async (name, { caughtBy, cause }) => {
      // A bug in a window of a few milliseconds is hit by chance, by about every second kill.
      const kills = /marks|first$/.test(name) ? 12 : 2;
      // This receiver handles events two seconds late, which must be visible before the first kill.
      const patience = name === "answers-before-storing" ? { settleMs: 8_000, promptMs: 8_000 } : {};
      const timing = { kills, ...patience };
      const checks = CHECKS.filter(({ id }) => id === caughtBy);
      const report = await judgeKilled(name, { checks, timing });
      const found = report.results.find(({ check }) => check.id === caughtBy);
      expect(found?.cause, story(report)).toBe(cause);
    });
  });
});

/** Starts the small receiver with a bug, has verify kill it repeatedly, and returns the report. */
async function judgeKilled(
  mutant: string,
  { checks = CHECKS, timing }: { checks?: Check[]; timing?: Partial<Timing> } = {},
): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "crash-receiver-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const program = new URL("crash-receiver.ts", import.meta.url).pathname;
  const started = await startReceiver({
    command: [process.execPath, program],
    url,
    env: { PORT: String(port), SIGNING_SECRET: SECRET, MUTANT: mutant, STORE: join(folder, "events") },
  });
  if (!started.ok) throw new Error(`${started.message}\n${started.output.join("\n")}`);
  try {
    return await runChecks({
      url,
      secret: SECRET,
      seed: "crash",
      checks,
      observe: createObserver(`http://127.0.0.1:${port}/handled/{id}`),
      receiver: started.receiver,
      timing: { ...QUICK, settleMs: 3_000, promptMs: 3_000, ...timing },
      now: Date.now,
    });
  } finally {
    await started.receiver.kill();
    await rm(folder, { recursive: true });
  }
}
