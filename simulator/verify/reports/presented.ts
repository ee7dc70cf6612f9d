import { printable } from "../../../shared/text.ts";
import { type Evidence, evidenceOf, repeatCommand } from "../evidence.ts";
import { type CheckResult, countResults, type Report, standingOf } from "../report.ts";
import { groupByCause, unprovenSentence } from "../summary.ts";

/** A report for people: each text in it is one printable line, even of foreign bytes. */
export type PresentedReport = ReturnType<typeof present>;

export type PresentedResult = ReturnType<typeof presentResult>;

export type PresentedCause = PresentedReport["causes"][number];

const VALUE_SHOWN_CHARACTERS = 200;
const HEADERS_SHOWN = 8;
const HIDDEN_HEADERS = new Set(["host", "user-agent", "connection", "content-length"]);

/** Makes everything in `report` printable, so that no format has to think of it. */
export function present(report: Report) {
  const { verdict, startedAt, durationMs, notRun, seed, incomplete, results, receiverOutput } = report;
  const causes = groupByCause(results).map((group) => ({
    ...group,
    results: group.results.map((result) => presentResult(report, result, group.fix)),
  }));
  const shown = new Map(causes.flatMap((group) => group.results.map((result) => [result.check.id, result])));
  const presented = (result: CheckResult) => shown.get(result.check.id) ?? presentResult(report, result);
  return {
    verdict,
    startedAt,
    durationMs,
    notRun,
    seed: printable(seed),
    incomplete: incomplete && printable(incomplete),
    unproven: unprovenSentence(results),
    counts: countResults(results),
    groups: [...Map.groupBy(results, ({ check }) => check.group)].map(([group, members]) => ({
      group,
      results: members.map(presented),
      counts: countResults(members),
    })),
    /** What failed, by what happened. */
    causes,
    results: results.map(presented),
    receiverOutput: receiverOutput.map(printable),
  };
}

function presentResult(report: Report, result: CheckResult, fix = "") {
  const { check, outcome, cause, explanation = "", durationMs, exchanges } = result;
  const [evidence] = outcome === "failed" ? exchanges.slice(0, 1).map(evidenceOf) : [];
  return {
    check,
    standing: standingOf(result),
    cause,
    fix,
    explanation: printable(explanation),
    durationMs,
    evidence: evidence === undefined ? [] : evidenceLines(evidence),
    curl: evidence?.curl?.split("\n").map(printable) ?? [],
    again: printable(repeatCommand(report, result)),
  };
}

function evidenceLines({ sent, received, durationMs }: Evidence): string[] {
  const headers = sent.headers
    .filter(([name]) => !HIDDEN_HEADERS.has(name.toLowerCase()))
    .slice(0, HEADERS_SHOWN)
    .map(([name, value]) => `          ${printable(name)}: ${cut(value)}`);
  return [
    `sent:     POST ${printable(sent.url)}${sent.note === undefined ? "" : ` — ${printable(sent.note)}`}`,
    ...headers,
    `          ${cut(sent.body)}`,
    "status" in received
      ? `received: ${received.status} after ${durationMs} ms${received.body === "" ? "" : `: ${cut(received.body)}`}`
      : `received: nothing after ${durationMs} ms: ${printable(received.message)}`,
  ];
}

function cut(text: string): string {
  const shown = printable(text.slice(0, VALUE_SHOWN_CHARACTERS));
  return text.length > VALUE_SHOWN_CHARACTERS ? `${shown}…` : shown;
}
