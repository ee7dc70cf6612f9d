import { evidenceOf, repeatCommand } from "../evidence.ts";
import { type CheckResult, countResults, type Report, standingOf } from "../report.ts";
import { evidenceLines } from "./evidence-lines.ts";

/**
 * The report as JUnit XML: a suite for each group, a test case for each check. Unverified ones are skipped; a failed
 * piece of advice has a property and its text as output, and is no failure.
 */
export function junitReport(report: Report): string {
  const groups = Map.groupBy(report.results, ({ check }) => check.group);
  const suites = [...groups].map(([group, results]) => {
    const { failed, unverified, known } = countResults(results);
    const cases = results.map((result) => testCase(report, result)).join("");
    const seconds = results.reduce((total, { durationMs }) => total + durationMs, 0) / 1_000;
    return (
      `  <testsuite name="${group}" tests="${results.length}" failures="${failed}" errors="0" ` +
      `skipped="${unverified + known}" time="${seconds.toFixed(3)}">\n${cases}  </testsuite>\n`
    );
  });
  const { failed, unverified, known } = countResults(report.results);
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<testsuites name="voice-agent-simulator verify" tests="${report.results.length}" failures="${failed}" errors="0" ` +
    `skipped="${unverified + known}" time="${(report.durationMs / 1_000).toFixed(3)}" ` +
    `timestamp="${report.startedAt.toISOString()}">\n${suites.join("")}</testsuites>\n`
  );
}

function testCase(report: Report, result: CheckResult): string {
  const { check, explanation = "" } = result;
  const open =
    `    <testcase classname="${check.group}" name="${escaped(`${check.id}: ${check.title}`)}" ` +
    `time="${(result.durationMs / 1_000).toFixed(3)}"`;
  const standing = standingOf(result);
  if (standing === "passed") return `${open}/>\n`;
  if (standing === "unverified" || standing === "known") {
    const reason = standing === "known" ? `Known from the baseline. ${explanation}` : explanation;
    return `${open}>\n      <skipped message="${escaped(reason)}"/>\n    </testcase>\n`;
  }
  const details = [
    explanation,
    `Rule: ${check.spec.text} (${check.spec.section}; ${check.spec.page})`,
    `Fix: ${check.hint}`,
    ...result.exchanges.slice(0, 1).flatMap((exchange) => evidenceLines(evidenceOf(exchange))),
    `Again: ${repeatCommand(report, result)}`,
  ].join("\n");
  if (standing === "advice") {
    return (
      `${open}>\n      <properties><property name="advice" value="${escaped(explanation)}"/></properties>\n` +
      `      <system-out>${escaped(details)}</system-out>\n    </testcase>\n`
    );
  }
  return (
    `${open}>\n      <failure message="${escaped(explanation)}" type="${check.level}">` +
    `${escaped(details)}</failure>\n    </testcase>\n`
  );
}

/** Text for XML, without the characters that XML 1.0 cannot hold at all. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
