import type { Report } from "../report.ts";
import { githubReport } from "./github.ts";
import { jsonReport } from "./json.ts";
import { junitReport } from "./junit.ts";
import { markdownReport } from "./markdown.ts";
import { type Paint, prettyReport } from "./pretty.ts";
import { present } from "./presented.ts";

/** Everything that a report can be written as; colours are for the one that a terminal shows. */
export const FORMATS = {
  pretty: (report, paint) => prettyReport(present(report), paint),
  json: jsonReport,
  junit: (report) => junitReport(present(report)),
  markdown: (report) => markdownReport(present(report)),
  github: (report) => githubReport(present(report)),
} satisfies Record<string, (report: Report, paint: Paint) => string>;

export type Format = keyof typeof FORMATS;

export function isFormat(text: string): text is Format {
  return Object.hasOwn(FORMATS, text);
}
