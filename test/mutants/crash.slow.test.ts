import { globSync } from "node:fs";
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
/** A restart takes its time: the check that moves a clock is for those alone that depend on one. */
const CLOCK_MUTANT = "forgets-after-an-hour";
const CRASH_CHECKS = CATALOGUE.filter(({ phase }) => phase === "crash");
const ORDINARY = CRASH_CHECKS.filter(({ only }) => only === undefined);
/** What a mutant meets: every check with `npm run test:all`; else the one that is meant for it, by a kill or two. */
function checksFor(mutant: string, caughtBy: string): Check[] {
  if (mutant === CLOCK_MUTANT) return CRASH_CHECKS.filter(({ only }) => only === "thorough");
  return ALL ? ORDINARY : ORDINARY.filter(({ id }) => id === caughtBy);
}

/** Those that are caught after the first kills; all with `npm run test:all`. */
const QUICKLY_CAUGHT = ["forgets-ids", "starts-over", "does-not-restart"];
const JUDGED = Object.entries(CRASH_MUTANTS).filter(([name]) => ALL || QUICKLY_CAUGHT.includes(name));

describe.concurrent("kill -9 at the wrong moment", () => {
  test("a receiver that stores before it answers loses nothing and does nothing twice", async ({
    expect,
  }) => {
    const report = await judgeKilled("", { checks: ORDINARY });
    expect(idsOf(report, "failed"), story(report)).toEqual([]);
    expect(idsOf(report, "unverified")).toEqual([]);
  });

  test.each(JUDGED)("%s: it is caught, by that cause", async (name, { caughtBy, cause }) => {
    // A bug that two milliseconds decide is met by chance: by one kill in two, about.
    const kills = name.includes("marks") ? 12 : 2;
    // This one handles what it takes two seconds later, which is to be seen before the first kill.
    const patience = name === "answers-before-storing" ? { settleMs: 8_000, promptMs: 8_000 } : {};
    const timing = { kills, ...patience };
    const report = await judgeKilled(name, { checks: checksFor(name, caughtBy), timing });
    const found = report.results.find(({ check }) => check.id === caughtBy);
    expect(found?.cause, story(report)).toBe(cause);
  });
});

describe.concurrent("a clock that is moved ahead", () => {
  const checks = CATALOGUE.filter(({ id }) => id === "effects.after-whole-schedule");

  test("proves nothing where the receiver does not read the variable", async ({ expect }) => {
    const report = await judgeKilled(CLOCK_MUTANT, { checks, clockVariable: "NOT_READ" });
    expect(report.results.at(-1)).toMatchObject({
      check: { id: "effects.after-whole-schedule" },
      outcome: "unverified",
      explanation: expect.stringMatching(/^Its clock did not move: it still takes what is signed now\./),
    });
  });

  const [library] = globSync("/usr/lib{,/*}/faketime/libfaketime.so.1");
  if (library === undefined)
    process.stdout.write("skipped: libfaketime, since it is not here (Debian: faketime)\n");
  test.skipIf(library === undefined)(
    "by libfaketime finds ids that are kept for an hour",
    async ({ expect }) => {
      const env = { LD_PRELOAD: library ?? "" };
      const [forgets, keeps] = await Promise.all(
        [CLOCK_MUTANT, ""].map((mutant) => judgeKilled(mutant, { checks, clockVariable: "FAKETIME", env })),
      );
      expect(forgets?.results.at(-1)?.explanation).toMatch(
        /should be handled once, but the receiver says 2 times/,
      );
      expect(keeps?.verdict, keeps && story(keeps)).toBe("passed");
      expect(keeps?.results.at(-1)).toMatchObject({ check: checks[0], outcome: "passed" });
    },
  );
});

type Circumstances = {
  clockVariable?: string;
  checks?: Check[];
  env?: Record<string, string>;
  timing?: Partial<Timing>;
};

/** Starts the small receiver with a bug, lets verify kill it again and again, and answers the report. */
async function judgeKilled(
  mutant: string,
  { clockVariable = "CLOCK_AHEAD", checks = ORDINARY, env = {}, timing }: Circumstances = {},
): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "crash-receiver-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const program = new URL("crash-receiver.ts", import.meta.url).pathname;
  const started = await startReceiver({
    command: [process.execPath, program],
    url,
    env: {
      PORT: String(port),
      SIGNING_SECRET: SECRET,
      MUTANT: mutant,
      STORE: join(folder, "events"),
      ...env,
    },
  });
  if (!started.ok) throw new Error(`${started.message}\n${started.output.join("\n")}`);
  try {
    return await runChecks({
      url,
      secret: SECRET,
      seed: "crash",
      checks,
      clockVariable,
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
