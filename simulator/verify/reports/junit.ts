import type { PresentedReport, PresentedResult } from "./presented.ts";

/**
 * The report as JUnit XML: a suite for each group, a test case for each check. Unverified checks are skipped; failed advice
 * has a property and its text as output, and is no failure.
 */
export function junitReport(report: PresentedReport): string {
  const suites = report.groups.map(({ group, results, counts: { failed, unverified } }) => {
    const cases = results.map(testCase).join("");
    const seconds = results.reduce((total, { durationMs }) => total + durationMs, 0) / 1_000;
    return (
      `  <testsuite name="${group}" tests="${results.length}" failures="${failed}" errors="0" ` +
      `skipped="${unverified}" time="${seconds.toFixed(3)}">\n${cases}  </testsuite>\n`
    );
  });
  const { failed, unverified } = report.counts;
  const trouble = troubleOf(report);
  const errors = trouble === undefined ? 0 : 1;
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<testsuites name="voice-agent-simulator verify" tests="${report.results.length + errors}" failures="${failed}" errors="${errors}" ` +
    `skipped="${unverified}" time="${(report.durationMs / 1_000).toFixed(3)}" ` +
    `timestamp="${report.startedAt.toISOString()}">\n${suites.join("")}${trouble ?? ""}</testsuites>\n`
  );
}

/** A run that did not finish must not look like one in which everything passed. */
function troubleOf({ verdict, incomplete, results }: PresentedReport): string | undefined {
  if (verdict !== "incomplete" && verdict !== "could_not_run") return undefined;
  const reason = incomplete ?? results[0]?.explanation ?? "Nothing was verified.";
  return (
    '  <testsuite name="run" tests="1" failures="0" errors="1" skipped="0" time="0.000">\n' +
    `    <testcase classname="run" name="comes to its end" time="0.000">` +
    `<error message="${escaped(reason)}"/></testcase>\n  </testsuite>\n`
  );
}

function testCase(result: PresentedResult): string {
  const { check, standing, cause, explanation, evidence, again } = result;
  const open =
    `    <testcase classname="${check.group}" name="${escaped(`${check.id}: ${check.title}`)}" ` +
    `time="${(result.durationMs / 1_000).toFixed(3)}"`;
  if (standing === "passed") return `${open}/>\n`;
  if (standing === "unverified") {
    return `${open}>\n      <skipped message="${escaped(explanation)}"/>\n    </testcase>\n`;
  }
  const details = [
    explanation,
    `Rule: ${check.spec.text} (${check.spec.section}; ${check.spec.page})`,
    `Fix: ${result.fix}`,
    ...evidence,
    `Again: ${again}`,
  ].join("\n");
  if (standing === "advice") {
    return (
      `${open}>\n      <properties><property name="cause" value="${cause}"/><property name="advice" value="${escaped(explanation)}"/></properties>\n` +
      `      <system-out>${escaped(details)}</system-out>\n    </testcase>\n`
    );
  }
  return (
    `${open}>\n      <failure message="${escaped(explanation)}" type="${cause}">` +
    `${escaped(details)}</failure>\n    </testcase>\n`
  );
}

/** Printable text for XML, without the two characters that are printable, but that XML 1.0 cannot hold. */
function escaped(text: string): string {
  return text
    .replaceAll(/[\ufffe\uffff]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
