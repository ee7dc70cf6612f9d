import { evidenceOf, repeatCommand } from "../evidence.ts";
import { countResults, type CheckResult, type Report, standingOf } from "../report.ts";
import { evidenceLines } from "./evidence-lines.ts";

const FAILURES_SHOWN = 20;

/** The report as Markdown, for a comment on a pull request or a job summary. */
export function markdownReport(report: Report): string {
  const { passed, failed, advice, unverified, known } = countResults(report.results);
  const word = { passed: "✅ passed", failed: "❌ failed", could_not_run: "⚠️ could not run" }[
    report.verdict
  ];
  const groups = Map.groupBy(report.results, ({ check }) => check.group);
  const failures = report.results.filter((result) => standingOf(result) === "failed");
  const advised = report.results.filter((result) => standingOf(result) === "advice");
  const unjudged = new Set(
    report.results
      .filter(({ outcome }) => outcome === "unverified")
      .map(({ explanation = "" }) => explanation),
  );
  return [
    `### Webhook receiver: ${word}`,
    "",
    `${passed} passed, ${failed} failed, ${advice} advice, ${unverified} unverified${known > 0 ? `, ${known} known` : ""} · ` +
      `${(report.durationMs / 1_000).toFixed(1)} s · seed \`${report.seed}\``,
    "",
    "| group | passed | failed | advice | unverified |",
    "|---|---:|---:|---:|---:|",
    ...[...groups].map(([group, results]) => {
      const counts = countResults(results);
      return `| ${group} | ${counts.passed} | ${counts.failed} | ${counts.advice} | ${counts.unverified} |`;
    }),
    "",
    ...failures.slice(0, FAILURES_SHOWN).flatMap((result) => details(report, result)),
    ...(failures.length > FAILURES_SHOWN
      ? [`… and ${failures.length - FAILURES_SHOWN} more failures.`, ""]
      : []),
    ...(advised.length > 0 ? ["Advice:", ""] : []),
    ...advised.slice(0, FAILURES_SHOWN).flatMap((result) => details(report, result)),
    ...(unjudged.size > 0
      ? ["Unverified:", "", ...[...unjudged].map((reason) => `- ${plain(reason)}`), ""]
      : []),
  ].join("\n");
}

function details(report: Report, result: CheckResult): string[] {
  const { check, explanation = "", exchanges } = result;
  const [evidence] = exchanges.slice(0, 1).map(evidenceOf);
  return [
    `<details><summary><code>${check.id}</code> ${plain(check.title)}</summary>`,
    "",
    plain(explanation),
    "",
    `- Rule: ${plain(check.spec.text)} (${check.spec.section}; ${check.spec.page})`,
    `- Fix: ${plain(check.hint)}`,
    "",
    ...(evidence === undefined ? [] : fenced(evidenceLines(evidence).join("\n"), "text")),
    ...fenced(evidence?.curl ?? repeatCommand(report, result), "sh"),
    "</details>",
    "",
  ];
}

/** A code block whose fence is longer than any inside it. */
function fenced(text: string, language: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return [`${fence}${language}`, text, fence, ""];
}

/** Foreign text as text: nothing in it may become markup. */
function plain(text: string): string {
  return text
    .replaceAll(/[\\`*_{}[\]<>#|~!@&]/g, (character) => `&#${character.codePointAt(0)};`)
    .replaceAll(/\s+/g, " ");
}
