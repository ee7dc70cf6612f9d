import { printableJson } from "../../../shared/text.ts";
import { evidenceOf, repeatCommand } from "../evidence.ts";
import { withoutUserInfo } from "../../text/redact.ts";
import { type CheckResult, countResults, type Report } from "../report.ts";
import { fixOf, groupByCause, unprovenSentence } from "../summary.ts";

export function jsonReport(report: Report): string {
  const value = {
    object: "verify_report",
    version: 1,
    url: withoutUserInfo(report.url),
    seed: report.seed,
    started_at: report.startedAt.toISOString(),
    duration_ms: Math.round(report.durationMs),
    verdict: report.verdict,
    incomplete: report.incomplete,
    unproven: unprovenSentence(report.results),
    summary: { ...countResults(report.results), not_run: report.notRun },
    causes: causesValue(report.results),
    checks: report.results.map((result) => checkValue(report, result)),
    receiver_output: report.receiverOutput,
  };
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}

/** What failed, by what happened: one fix for all checks that met it. */
export function causesValue(results: readonly CheckResult[]) {
  return groupByCause(results).map(({ cause, words, fix, standing, results: members }) => ({
    cause,
    words,
    fix,
    standing,
    checks: members.map(({ check }) => check.id),
  }));
}

/** One check of a report as a JSON value, by default without the evidence of passed checks. */
export function checkValue(
  report: Pick<Report, "invocation" | "seed">,
  result: CheckResult,
  options: { withAllEvidence?: boolean } = {},
) {
  const { check, outcome, cause, explanation } = result;
  const isTold = outcome === "failed" || options.withAllEvidence === true;
  return {
    id: check.id,
    group: check.group,
    title: check.title,
    level: check.level,
    outcome,
    cause,
    duration_ms: Math.round(result.durationMs),
    rule: check.spec,
    explanation,
    ...(isTold && {
      hint: cause === undefined ? undefined : fixOf([{ check, cause }]),
      repeat: repeatCommand(report, result),
      evidence: result.exchanges.map((exchange) => {
        const { sent, received, durationMs, curl } = evidenceOf(exchange);
        return { sent, received, duration_ms: durationMs, curl };
      }),
    }),
  };
}
