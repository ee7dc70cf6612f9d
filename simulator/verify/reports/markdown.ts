import type { PresentedCause, PresentedReport } from "./presented.ts";

const IDS_SHOWN = 20;

/** The report as Markdown, for a comment on a pull request or a job summary. */
export function markdownReport(report: PresentedReport): string {
  const { passed, failed, advice, unverified } = report.counts;
  const word = {
    passed: "✅ passed",
    failed: "❌ failed",
    could_not_run: "⚠️ could not run",
    incomplete: "⚠️ incomplete",
  }[report.verdict];
  const unjudged = new Set(
    report.results.filter(({ standing }) => standing === "unverified").map(({ explanation }) => explanation),
  );
  const lines = [
    `### Webhook receiver: ${word}`,
    "",
    `${passed} passed, ${failed} failed, ${advice} advice, ${unverified} unverified · ` +
      `${(report.durationMs / 1_000).toFixed(1)} s · seed ${code(report.seed)}`,
    "",
  ];
  if (report.incomplete !== undefined) lines.push(plain(report.incomplete), "");
  if (report.unproven !== undefined) lines.push(`**${plain(report.unproven)}**`, "");
  lines.push(
    "| group | passed | failed | advice | unverified |",
    "|---|---:|---:|---:|---:|",
    ...report.groups.map(
      ({ group, counts }) =>
        `| ${group} | ${counts.passed} | ${counts.failed} | ${counts.advice} | ${counts.unverified} |`,
    ),
    "",
    ...report.causes.flatMap(causeLines),
  );
  if (unjudged.size > 0) {
    lines.push("Unverified:", "", ...[...unjudged].map((reason) => `- ${plain(reason)}`), "");
  }
  return lines.join("\n");
}

function causeLines({ words, fix, standing, results }: PresentedCause): string[] {
  const [first] = results;
  if (first === undefined) return [];
  const { check, explanation, evidence, curl, again } = first;
  const ids = results.slice(0, IDS_SHOWN).map((result) => `<code>${result.check.id}</code>`);
  const more = results.length > IDS_SHOWN ? ` and ${results.length - IDS_SHOWN} more` : "";
  return [
    `<details><summary>${standing === "advice" ? "Advice: " : ""}${plain(words)} (${results.length})</summary>`,
    "",
    `**Fix:** ${plain(fix)}`,
    "",
    `${ids.join(", ")}${more}`,
    "",
    `<code>${check.id}</code> ${plain(check.title)}: ${plain(explanation)}`,
    "",
    `Rule: ${plain(check.spec.text)} (${check.spec.section}; ${check.spec.page})`,
    "",
    ...(evidence.length === 0 ? [] : fenced(evidence.join("\n"), "text")),
    ...fenced(curl.length === 0 ? again : curl.join("\n"), "sh"),
    "</details>",
    "",
  ];
}

/** A word as inline code, also with backticks in it. */
function code(text: string): string {
  return `<code>${plain(text)}</code>`;
}

/** A code block whose fence is longer than any inside it. */
function fenced(text: string, language: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return [`${fence}${language}`, text, fence, ""];
}

/** Foreign text as text: nothing in it may become markup. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#|~!@&]/g, (character) => `&#${character.codePointAt(0)};`);
}
