import { z } from "zod";
import { printableJson } from "../../printable.ts";
import { evidenceOf, repeatCommand } from "../evidence.ts";
import { withoutUserInfo } from "../repeat.ts";
import { countResults, type Report } from "../report.ts";

/** What a later run needs of an earlier report: `--baseline` reads nothing else. */
export const baselineSchema = z.looseObject({
  object: z.literal("verify_report"),
  checks: z.array(z.looseObject({ id: z.string(), outcome: z.enum(["passed", "failed", "unverified"]) })),
});

/** The whole report as one JSON value. */
export function jsonReport(report: Report): string {
  return `${printableJson(
    {
      object: "verify_report",
      version: 1,
      url: withoutUserInfo(report.url),
      seed: report.seed,
      started_at: report.startedAt.toISOString(),
      duration_ms: Math.round(report.durationMs),
      verdict: report.verdict,
      ...(report.incomplete !== undefined && { incomplete: report.incomplete }),
      summary: { ...countResults(report.results), not_run: report.notRun },
      checks: report.results.map((result) => ({
        id: result.check.id,
        group: result.check.group,
        title: result.check.title,
        level: result.check.level,
        outcome: result.outcome,
        ...(result.known === true && { known: true }),
        duration_ms: Math.round(result.durationMs),
        rule: result.check.spec,
        ...(result.explanation !== undefined && { explanation: result.explanation }),
        ...(result.outcome === "failed" && {
          hint: result.check.hint,
          repeat: repeatCommand(report, result),
          evidence: result.exchanges.map((exchange) => {
            const { sent, received, durationMs, curl } = evidenceOf(exchange);
            return { sent, received, duration_ms: durationMs, ...(curl !== undefined && { curl }) };
          }),
        }),
      })),
      receiver_output: report.receiverOutput,
    },
    2,
  )}\n`;
}
