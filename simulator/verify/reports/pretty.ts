import { evidenceOf, repeatCommand } from "../evidence.ts";
import { type CheckResult, countResults, type Report, type Standing, standingOf } from "../report.ts";
import { evidenceLines } from "./evidence-lines.ts";

/** Paints text for a terminal, or leaves it as it is. */
export type Paint = (style: "red" | "green" | "yellow" | "dim" | "bold", text: string) => string;

const OUTPUT_SHOWN_LINES = 30;

/** The report for a person: failures with all their evidence, groups in one line where nothing is wrong. */
export function prettyReport(report: Report, paint: Paint): string {
  const groups = Map.groupBy(report.results, ({ check }) => check.group);
  const lines = [...groups].flatMap(([group, results]) => groupLines(report, group, results, paint));
  if (report.verdict !== "passed" && report.receiverOutput.length > 0) {
    lines.push("", paint("bold", "The receiver's last lines"));
    lines.push(
      ...report.receiverOutput.slice(-OUTPUT_SHOWN_LINES).map((line) => paint("dim", `  receiver | ${line}`)),
    );
  }
  return `${lines.join("\n")}\n\n${summary(report, paint)}\n`;
}

function groupLines(report: Report, group: string, results: CheckResult[], paint: Paint): string[] {
  const { passed, failed, advice, unverified, known } = countResults(results);
  const parts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(advice > 0 ? [`${advice} advice`] : []),
    ...(known > 0 ? [`${known} known`] : []),
    ...(unverified > 0 ? [`${unverified} unverified`] : []),
  ];
  const standings = new Set(results.map(standingOf));
  const worst = (["failed", "advice", "unverified"] as const).find((standing) => standings.has(standing));
  const open = results.filter((result) => ["failed", "advice"].includes(standingOf(result)));
  return [
    `${markOf(worst ?? "passed", paint)} ${paint("bold", group.padEnd(16))} ${parts.join(", ")}`,
    ...open.flatMap((result) => failureLines(report, result, paint)),
    ...results.flatMap((result) => noteLine(result, paint)),
    ...unverifiedLines(results, paint),
  ];
}

/** What was found out beside a check that passed. */
function noteLine(result: CheckResult, paint: Paint): string[] {
  if (standingOf(result) !== "passed" || result.explanation === undefined) return [];
  return [`  ${markOf("passed", paint)} ${result.check.id}: ${paint("dim", result.explanation)}`];
}

function markOf(standing: Standing, paint: Paint): string {
  if (standing === "failed") return paint("red", "✗");
  if (standing === "advice") return paint("yellow", "!");
  return standing === "unverified" ? paint("yellow", "?") : paint("green", "✓");
}

function failureLines(report: Report, result: CheckResult, paint: Paint): string[] {
  const { check, explanation = "", exchanges } = result;
  const [evidence] = exchanges.slice(0, 1).map(evidenceOf);
  return [
    "",
    `  ${markOf(standingOf(result), paint)} ${paint("bold", check.id)}  ${check.title}${check.level === "advice" ? paint("dim", " (advice)") : ""}`,
    `    ${explanation}`,
    `    rule:     ${check.spec.text} ${paint("dim", `(${check.spec.section}; ${check.spec.page})`)}`,
    `    fix:      ${check.hint}`,
    ...(evidence === undefined ? [] : evidenceLines(evidence).map((line) => `    ${line}`)),
    ...(evidence?.curl === undefined ? [] : indented("curl:", evidence.curl)),
    `    again:    ${repeatCommand(report, result)}`,
    "",
  ];
}

/** One line for each reason, since all checks of a group mostly lack the same. */
function unverifiedLines(results: CheckResult[], paint: Paint): string[] {
  const open = results.filter(({ outcome }) => outcome === "unverified");
  const byReason = Map.groupBy(open, ({ explanation = "" }) => explanation);
  return [...byReason].map(([reason, members]) => {
    const ids =
      members.length > 3 ? `${members.length} checks` : members.map(({ check }) => check.id).join(", ");
    return `  ${paint("yellow", "?")} ${ids}: ${reason}`;
  });
}

function indented(label: string, text: string): string[] {
  return [`    ${label}`, ...text.split("\n").map((line) => `      ${line}`)];
}

function summary(report: Report, paint: Paint): string {
  const { passed, failed, advice, unverified, known } = countResults(report.results);
  const counts = [
    `${passed} passed`,
    `${failed} failed`,
    `${advice} advice`,
    `${unverified} unverified`,
    ...(known > 0 ? [`${known} known from the baseline`] : []),
    ...(report.notRun > 0 ? [`${report.notRun} not run`] : []),
  ].join(", ");
  const tail = paint("dim", `${(report.durationMs / 1_000).toFixed(1)} s, seed ${report.seed}`);
  if (report.verdict === "could_not_run")
    return `${paint("red", "COULD NOT RUN")}  nothing was verified  ${tail}`;
  const word = report.verdict === "passed" ? paint("green", "PASSED") : paint("red", "FAILED");
  return `${word}  ${counts}  ${tail}`;
}
