import type { Standing } from "../report.ts";
import type { PresentedCause, PresentedReport, PresentedResult } from "./presented.ts";

/** Paints text for a terminal, or leaves it as it is. */
export type Paint = (style: "red" | "green" | "yellow" | "dim" | "bold", text: string) => string;

const OUTPUT_SHOWN_LINES = 30;
const OTHERS_SHOWN = 12;
const SHOWN_STANDINGS = ["passed", "failed", "advice", "unverified"] as const satisfies Standing[];

/** The report for a person: groups in one line each, then what failed by its cause, the first of each with its evidence. */
export function prettyReport(report: PresentedReport, paint: Paint): string {
  const lines = report.groups.flatMap((group) => groupLines(group, paint));
  lines.push(...report.causes.flatMap((cause) => causeLines(cause, paint)));
  if (report.verdict !== "passed" && report.receiverOutput.length > 0) {
    lines.push("", paint("bold", "The receiver's last lines"));
    lines.push(
      ...report.receiverOutput.slice(-OUTPUT_SHOWN_LINES).map((line) => paint("dim", `  receiver | ${line}`)),
    );
  }
  const unproven = report.unproven === undefined ? "" : `${paint("yellow", report.unproven)}\n`;
  return `${lines.join("\n")}\n\n${summary(report, paint)}\n${unproven}`;
}

function groupLines({ group, results, counts }: PresentedReport["groups"][number], paint: Paint): string[] {
  const parts = SHOWN_STANDINGS.filter((standing) => standing === "passed" || counts[standing] > 0).map(
    (standing) => `${counts[standing]} ${standing}`,
  );
  const standings = new Set(results.map(({ standing }) => standing));
  const worst = (["failed", "advice", "unverified"] as const).find((standing) => standings.has(standing));
  return [
    `${markOf(worst ?? "passed", paint)} ${paint("bold", group.padEnd(16))} ${parts.join(", ")}`,
    ...results.flatMap((result) => noteLine(result, paint)),
    ...unverifiedLines(results, paint),
  ];
}

/** One cause: how often, the fix, the first check that met it with all its evidence, and the names of the others. */
function causeLines({ words, fix, standing, results }: PresentedCause, paint: Paint): string[] {
  const [first, ...others] = results;
  if (first === undefined) return [];
  const count = `${results.length} ${results.length === 1 ? "check" : "checks"}${standing === "advice" ? ", advice" : ""}`;
  return [
    "",
    `${markOf(standing, paint)} ${paint("bold", words)} ${paint("dim", `(${count})`)}`,
    `  fix: ${fix}`,
    ...failureLines(first, paint),
    ...(others.length === 0 ? [] : ["  The same in:"]),
    ...others.slice(0, OTHERS_SHOWN).map(({ check }) => `    ${check.id}  ${paint("dim", check.title)}`),
    ...(others.length > OTHERS_SHOWN ? [`    … and ${others.length - OTHERS_SHOWN} more`] : []),
  ];
}

function noteLine({ check, standing, explanation }: PresentedResult, paint: Paint): string[] {
  if (standing !== "passed" || explanation === "") return [];
  return [`  ${markOf("passed", paint)} ${check.id}: ${paint("dim", explanation)}`];
}

function markOf(standing: Standing, paint: Paint): string {
  if (standing === "failed") return paint("red", "✗");
  if (standing === "advice") return paint("yellow", "!");
  return standing === "unverified" ? paint("yellow", "?") : paint("green", "✓");
}

function failureLines(
  { check, explanation, evidence, curl, again }: PresentedResult,
  paint: Paint,
): string[] {
  return [
    `  ${paint("bold", check.id)}  ${check.title}`,
    `    ${explanation}`,
    `    rule:     ${check.spec.text} ${paint("dim", `(${check.spec.section}; ${check.spec.page})`)}`,
    ...evidence.map((line) => `    ${line}`),
    ...(curl.length === 0 ? [] : ["    curl:", ...curl.map((line) => `      ${line}`)]),
    `    again:    ${again}`,
  ];
}

/** One line for each reason, since all checks of a group mostly lack the same. */
function unverifiedLines(results: PresentedResult[], paint: Paint): string[] {
  const open = results.filter(({ standing }) => standing === "unverified");
  const byReason = Map.groupBy(open, ({ explanation }) => explanation);
  return [...byReason].map(([reason, members]) => {
    const ids =
      members.length > 3 ? `${members.length} checks` : members.map(({ check }) => check.id).join(", ");
    return `  ${paint("yellow", "?")} ${ids}: ${reason}`;
  });
}

function summary(report: PresentedReport, paint: Paint): string {
  const { passed, failed, advice, unverified } = report.counts;
  const counts = [
    `${passed} passed`,
    `${failed} failed`,
    `${advice} advice`,
    `${unverified} unverified`,
    ...(report.notRun > 0 ? [`${report.notRun} not run`] : []),
  ].join(", ");
  const tail = paint("dim", `${(report.durationMs / 1_000).toFixed(1)} s, seed ${report.seed}`);
  if (report.verdict === "could_not_run")
    return `${paint("red", "COULD NOT RUN")}  nothing was verified  ${tail}`;
  if (report.incomplete !== undefined)
    return `${paint("red", "INCOMPLETE")}  ${report.incomplete}  ${counts}  ${tail}`;
  const word = report.verdict === "passed" ? paint("green", "PASSED") : paint("red", "FAILED");
  return `${word}  ${counts}  ${tail}`;
}
