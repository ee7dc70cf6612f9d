import type { Report } from "../../simulator/verify/report.ts";
import { parseReportTargets, writeReports } from "../../simulator/verify/reports/targets.ts";

/** A report as a file of this format. */
export async function written(report: Report, format: string): Promise<string> {
  const parsed = parseReportTargets([format], false);
  if (!parsed.ok) throw new Error(parsed.message);
  const wanted = parsed.targets.filter((target) => target.format === format);
  let text = "";
  await writeReports(report, wanted, { document: (part) => (text += part), style: (_, part) => part });
  return text;
}
