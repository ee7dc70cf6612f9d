import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Baseline, readBaseline } from "../baseline.ts";
import type { Report } from "../report.ts";
import { githubReport } from "./github.ts";
import { jsonReport } from "./json.ts";
import { junitReport } from "./junit.ts";
import { markdownReport } from "./markdown.ts";
import { type Paint, prettyReport } from "./pretty.ts";

const FORMATS = {
  pretty: prettyReport,
  json: jsonReport,
  junit: junitReport,
  markdown: markdownReport,
  github: githubReport,
} satisfies Record<string, (report: Report, paint: Paint) => string>;

type Format = keyof typeof FORMATS;

/** One report to write: to a file, or to stdout when there is none. */
export type ReportTarget = { format: Format; file?: string };

/** Reads `format` and `format=file`; when none goes to stdout, the pretty one does, or with `json` the JSON one. */
export function parseReportTargets(
  given: readonly string[],
  json: boolean,
): { ok: true; targets: ReportTarget[] } | { ok: false; message: string } {
  const targets: ReportTarget[] = json ? [{ format: "json" }] : [];
  for (const text of given) {
    const [format = "", ...rest] = text.split("=");
    const file = rest.join("=");
    if (!isFormat(format) || (rest.length > 0 && file === "")) {
      return {
        ok: false,
        message: `--report ${text}: give ${Object.keys(FORMATS).join(", ")}, alone or with a file, such as junit=verify.xml.`,
      };
    }
    targets.push({ format, ...(file !== "" && { file }) });
  }
  if (json && targets.some(({ format, file }) => file === undefined && format !== "json")) {
    return { ok: false, message: "With --json stdout carries JSON alone: give the other reports a file." };
  }
  if (!targets.some(({ file, format }) => file === undefined && format !== "github")) {
    targets.unshift({ format: "pretty" });
  }
  return { ok: true, targets };
}

/** Writes each report where it belongs; folders are made as needed. Colours go to stdout alone. */
export async function writeReports(
  report: Report,
  targets: readonly ReportTarget[],
  paint: Paint,
): Promise<void> {
  for (const { format, file } of targets) {
    if (file === undefined) {
      process.stdout.write(FORMATS[format](report, paint));
    } else {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(
        file,
        FORMATS[format](report, (_, text) => text),
      );
    }
  }
}

/** Reads the report of an earlier run for `--baseline`. */
export async function loadBaseline(
  file: string,
): Promise<{ ok: true; baseline: Baseline } | { ok: false; message: string }> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return { ok: false, message: `--baseline ${file}: there is no such file to read.` };
  const baseline = readBaseline(text);
  if (baseline !== undefined) return { ok: true, baseline };
  return {
    ok: false,
    message: `--baseline ${file}: this is no JSON report of verify. Make one with --report json=${file}.`,
  };
}

function isFormat(text: string): text is Format {
  return Object.hasOwn(FORMATS, text);
}
