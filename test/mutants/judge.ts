import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { Check } from "../../simulator/verify/check.ts";
import type { Report } from "../../simulator/verify/report.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import type { Timing } from "../../simulator/verify/timing.ts";
import type { Behaviour } from "./behaviour.ts";
import { SECRET, startMutant } from "./receiver.ts";

/**
 * Waits that every run with a mutant needs are short; deadlines that only a very slow machine reaches are long, so that
 * its slowness changes no verdict.
 */
export const QUICK: Partial<Timing> = {
  responseTimeoutMs: 20_000,
  underWayMs: 1_500,
  hurriedTimeoutMs: 20_000,
  runMs: Number.POSITIVE_INFINITY,
  lateMs: Number.POSITIVE_INFINITY,
  manyOthersMs: Number.POSITIVE_INFINITY,
  readyMs: 8_000,
  stallMs: 2_000,
  settleMs: 5_000,
  quietMs: 60,
  retryMs: 20,
  promptMs: 3_000,
  promptAnswerMs: 8_000,
  kills: 1,
  killsMs: Number.POSITIVE_INFINITY,
  burst: 14,
  manyOthers: 45,
};

/** What most runs of tests have in common. */
export const QUICK_RUN = { secret: SECRET, seed: "1", timing: QUICK, now: Date.now };

/** Judges the small receiver with `changes` planted in it, effects included; crashes need a separate process. */
export async function judge(
  changes: Partial<Behaviour>,
  options: {
    checks?: readonly Check[];
    burst?: number;
    responseTimeoutMs?: number;
    underWayMs?: number;
  } = {},
): Promise<Report> {
  // Both sides share a clock that stands still early in a second, so exact limits need no wait for the next second.
  const standingMs = Math.floor(Date.now() / 1_000) * 1_000 + 50;
  const now = (): number => standingMs;
  const receiver = await startMutant(changes, now);
  try {
    return await runChecks({
      url: receiver.url,
      secret: SECRET,
      seed: "mutants",
      checks:
        options.checks ?? CATALOGUE.filter(({ phase, group }) => phase !== "crash" && group !== "production"),
      // The counts that HTTP would return, without a request for each of some hundred events.
      observe: async (eventId) => ({ known: true, count: receiver.handled(eventId) }),
      timing: {
        ...QUICK,
        ...(options.burst !== undefined && { burst: options.burst }),
        ...(options.responseTimeoutMs !== undefined && { responseTimeoutMs: options.responseTimeoutMs }),
        ...(options.underWayMs !== undefined && { underWayMs: options.underWayMs }),
      },
      now,
    });
  } finally {
    await receiver.close();
  }
}

/** The ids of the checks with this result. */
export function idsOf(report: Report, outcome: "passed" | "failed" | "unverified"): string[] {
  return report.results.filter((result) => result.outcome === outcome).map(({ check }) => check.id);
}

/** The report's text on all checks that did not pass, for the message of a failing test. */
export function story({ results, receiverOutput }: Report): string {
  const open = results.filter(({ outcome }) => outcome !== "passed");
  const lines = open.map(
    ({ check, outcome, cause = "", explanation = "" }) => `${check.id} ${outcome} ${cause} ${explanation}`,
  );
  return [...lines, ...receiverOutput].join("\n");
}
