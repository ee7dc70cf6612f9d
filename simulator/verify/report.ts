import type { Redact } from "../text/redact.ts";
import type { CauseName } from "./causes.ts";
import type { Check, Verdict } from "./check.ts";
import type { Exchange } from "./delivery.ts";

/** What the run found out about one check. */
export type CheckResult = {
  check: Omit<Check, "run">;
  outcome: "passed" | "failed" | "unverified";
  /** Unverified because a handler deferred an event; `--fail-on unverified` accepts it. */
  isDeferred?: boolean | undefined;
  /** What happened, where it failed. */
  cause?: CauseName | undefined;
  /** What the receiver did wrong, why nothing could be judged, or an additional finding of a passed check. */
  explanation?: string | undefined;
  /** The requests and answers, the most telling exchange first. */
  exchanges: Exchange[];
  durationMs: number;
};

/** The result of a check, made from its verdict; secrets that the receiver repeated are taken out. */
export function resultOf(
  check: Omit<Check, "run">,
  verdict: Verdict,
  { durationMs, redact }: { durationMs: number; redact: Redact },
): CheckResult {
  const { outcome } = verdict;
  const explanation =
    outcome === "passed" ? verdict.note : outcome === "failed" ? verdict.problem : verdict.reason;
  return {
    check,
    outcome,
    isDeferred: outcome === "unverified" ? verdict.isDeferred : undefined,
    cause: outcome === "failed" ? causeIn(check, verdict.cause) : undefined,
    exchanges: outcome === "failed" ? verdict.exchanges : [],
    durationMs,
    explanation: explanation === undefined ? undefined : redact.text(explanation),
  };
}

/** The cause of a refusal if other deliveries are accepted: not the route, but the new part of this one. */
function causeIn({ group }: Pick<Check, "group">, cause: CauseName): CauseName {
  if (group === "preflight" || (cause !== "refused" && cause !== "wrong_route")) return cause;
  return group === "evolution" || group === "readings" ? "unfamiliar_refused" : "refused";
}

/** The verdict on one receiver, with everything that any format of report shows. */
export type Report = {
  url: string;
  seed: string;
  /** How to repeat the run: the parts of the command before and after its other options. */
  invocation: { start: string; end: string };
  startedAt: Date;
  durationMs: number;
  verdict: "passed" | "failed" | "could_not_run" | "incomplete";
  /** Why the run was cut short; the report has only the results before that. */
  incomplete?: string | undefined;
  results: CheckResult[];
  /** Number of selected checks that were not run: the preflight failed, or the run was interrupted. */
  notRun: number;
  receiverOutput: string[];
};

/** How a result counts: failed advice is separate from failed requirements. */
export type Standing = "passed" | "failed" | "advice" | "unverified";

export function standingOf({ check, outcome }: CheckResult): Standing {
  return outcome === "failed" && check.level === "advice" ? "advice" : outcome;
}

export function countResults(results: readonly CheckResult[]): Record<Standing, number> {
  const counts = { passed: 0, failed: 0, advice: 0, unverified: 0 };
  for (const result of results) counts[standingOf(result)] += 1;
  return counts;
}

/** What fails a run besides a failed `must` check. */
export const FAIL_ON = ["advice", "unverified"] as const;

export type FailOn = (typeof FAIL_ON)[number];

/** The verdict of a complete run: `failed` for a failed `must` check, or for what `failOn` names and no handler deferred. */
export function verdictOf(
  results: readonly CheckResult[],
  failOn: readonly FailOn[] = [],
): Report["verdict"] {
  const counts = countResults(results.filter(({ isDeferred }) => isDeferred !== true));
  if (results.some(({ check, outcome }) => check.id === "preflight.reachable" && outcome !== "passed")) {
    return "could_not_run";
  }
  return counts.failed > 0 || failOn.some((standing) => counts[standing] > 0) ? "failed" : "passed";
}

/** Exit codes of the command: 0 ok, 1 a check failed, 3 nothing could be verified, or not everything. */
export const EXIT_CODES = { passed: 0, failed: 1, could_not_run: 3, incomplete: 3 } as const satisfies Record<
  Report["verdict"],
  number
>;
