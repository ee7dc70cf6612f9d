import type { PresentedReport } from "./presented.ts";

/**
 * GitHub workflow commands: an error for each cause of failures, a warning for advice, and a notice for all that could not be
 * judged.
 */
export function githubReport(report: PresentedReport): string {
  const lines = report.causes.map(({ words, fix, standing, results }) => {
    const kind = standing === "failed" ? "error" : "warning";
    const ids = results.map(({ check, explanation }) => `${check.id}: ${explanation}`).join("\n");
    return `::${kind} title=${property(words)}::${data(`Fix: ${fix}\n${ids}`)}`;
  });
  const unverified = report.results.filter(({ standing }) => standing === "unverified");
  if (report.incomplete !== undefined) {
    lines.push(`::error title=verify did not finish::${data(report.incomplete)}`);
  } else if (report.verdict === "could_not_run") {
    lines.push(
      `::error title=verify could not run::${data(unverified[0]?.explanation ?? "Nothing was verified.")}`,
    );
  } else if (unverified.length > 0) {
    const reasons = [...new Set([...unverified.map(({ explanation }) => explanation), report.unproven ?? ""])]
      .join("\n")
      .trimEnd();
    lines.push(`::notice title=unverified: ${unverified.length}::${data(reasons)}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
