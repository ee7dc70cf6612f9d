import { accessSync, constants, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Report } from "../report.ts";
import { type Format, FORMATS, isFormat } from "./formats.ts";
import type { Paint } from "./pretty.ts";
import { type Refused, refused } from "../../domain/refused.ts";
import { codeOf } from "../../text/errors.ts";

/** One report to write: to a file, or to stdout if none is named. */
export type ReportTarget = { format: Format; file?: string | undefined };

/** Reads `format` and `format=file`; when none but `github` goes to stdout, the pretty one does, or with `json` the JSON one. */
export function parseReportTargets(
  given: readonly string[],
  json: boolean,
): { ok: true; targets: ReportTarget[] } | Refused {
  const targets: ReportTarget[] = json ? [{ format: "json" }] : [];
  for (const text of given) {
    const [format = "", ...rest] = text.split("=");
    const file = rest.join("=");
    if (!isFormat(format) || (rest.length > 0 && file === "")) {
      return refused(
        `--report ${text}: give ${Object.keys(FORMATS).join(", ")}, alone or with a file, such as junit=verify.xml.`,
      );
    }
    targets.push({ format, file: file === "" ? undefined : file });
  }
  if (json && targets.some(({ format, file }) => file === undefined && format !== "json")) {
    return refused("With --json stdout is for JSON only: write the other reports to a file.");
  }
  if (!targets.some(({ file, format }) => file === undefined && format !== "github")) {
    targets.unshift({ format: "pretty" });
  }
  return { ok: true, targets };
}

/** Why one of the files cannot be written, checked before a run. Folders are not created, since the name may be a typo. */
export function unwritableTarget(targets: readonly ReportTarget[]): string | undefined {
  for (const { format, file } of targets) {
    const reason = file === undefined ? undefined : whyUnwritable(file);
    if (reason !== undefined) return `--report ${format}=${file}: it cannot be written (${reason}).`;
  }
  return undefined;
}

function whyUnwritable(file: string): string | undefined {
  try {
    const folder = dirname(file);
    const above = statSync(folder, { throwIfNoEntry: false });
    if (above === undefined) return `there is no folder ${folder}: make it`;
    if (!above.isDirectory()) return `${folder} is a file`;
    const known = statSync(file, { throwIfNoEntry: false });
    if (known?.isDirectory() === true) return "it is a directory";
    accessSync(known === undefined ? folder : file, constants.W_OK);
    return undefined;
  } catch (error) {
    return codeOf(error) || String(error);
  }
}

/** Writes each report to its target, with colours only on stdout; returns one line for each that could not be written. */
export async function writeReports(
  report: Report,
  targets: readonly ReportTarget[],
  output: { document(text: string): void; style: Paint },
): Promise<string[]> {
  const failures: string[] = [];
  for (const { format, file } of targets) {
    if (file === undefined) {
      output.document(FORMATS[format](report, (style, text) => output.style(style, text)));
      continue;
    }
    const text = FORMATS[format](report, (_, plain) => plain);
    await writeFile(file, text).catch((error: unknown) => {
      failures.push(`The report ${file} could not be written (${codeOf(error) || String(error)}).`);
    });
  }
  return failures;
}
