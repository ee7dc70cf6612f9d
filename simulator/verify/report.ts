import type { Check } from "./check.ts";
import type { Exchange } from "./delivery.ts";

/** What the run found out about one check. */
export type CheckResult = {
  check: Omit<Check, "run">;
  outcome: "passed" | "failed" | "unverified";
  /** What the receiver did wrong, or why nothing could be judged. */
  explanation?: string;
  /** What was sent and what came back, the telling exchange first. */
  exchanges: Exchange[];
  durationMs: number;
  /** The check failed in the baseline too, so that it does not fail this run. */
  known?: boolean;
};

/** The verdict on one receiver, with everything that any format of report shows. */
export type Report = {
  url: string;
  seed: string;
  /** How to start the same run again: what stands before and behind its other options. */
  invocation: { start: string; end: string };
  startedAt: Date;
  durationMs: number;
  verdict: "passed" | "failed" | "could_not_run";
  results: CheckResult[];
  /** Checks that were selected, but that made no sense after the preflight failed. */
  notRun: number;
  /** The receiver's last lines, in the command form. */
  receiverOutput: string[];
};

export type Counts = { passed: number; failed: number; unverified: number; known: number };

/** How many checks ended how; known failures are not among the failed. */
export function countResults(results: readonly CheckResult[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, unverified: 0, known: 0 };
  for (const { outcome, known } of results) {
    if (known === true) counts.known += 1;
    else counts[outcome] += 1;
  }
  return counts;
}

/** `failed` when a check failed that was not known, or could not be judged where that counts as failure. */
export function verdictOf(
  results: readonly CheckResult[],
  failOn: { unverified: boolean } = { unverified: false },
): Report["verdict"] {
  const counts = countResults(results);
  if (results.some(({ check, outcome }) => check.id === "preflight.reachable" && outcome !== "passed")) {
    return "could_not_run";
  }
  return counts.failed > 0 || (failOn.unverified && counts.unverified > 0) ? "failed" : "passed";
}

/** Exit codes of the command: 0 ok, 1 a check failed, 3 nothing could be verified. */
export const EXIT_CODES = { passed: 0, failed: 1, could_not_run: 3 } as const satisfies Record<
  Report["verdict"],
  number
>;
