import { shellOf } from "../text/invocation.ts";
import { shellWordFor } from "../text/shell-words.ts";
import type { Exchange } from "./delivery.ts";
import { withoutUserInfo } from "../text/redact.ts";
import { curlFor } from "./repeat.ts";
import type { CheckResult, Report } from "./report.ts";

const BODY_SHOWN_CHARACTERS = 600;

export type Evidence = ReturnType<typeof evidenceOf>;

type Received =
  | { status: number; headers: [string, string][]; body: string }
  | { error: string; message: string };

/** What was sent and what came back, ready for any format of report. */
export function evidenceOf({ request, outcome, durationMs }: Exchange) {
  const received: Received =
    outcome.kind === "answered"
      ? { status: outcome.status, headers: outcome.headers, body: shortened(outcome.body) }
      : { error: outcome.error, message: outcome.message };
  return {
    sent: {
      method: "POST" as const,
      url: withoutUserInfo(request.url),
      headers: request.headers,
      body: shortened(request.body),
      note: request.note,
    },
    received,
    durationMs: Math.round(durationMs),
    /** Shell lines that repeat it, where curl can. */
    curl: curlFor(request),
  };
}

/** The command that runs one check again, with the same events. */
export function repeatCommand(
  { invocation, seed }: Pick<Report, "invocation" | "seed">,
  { check }: CheckResult,
): string {
  const options = check.again ?? `--only ${check.id}`;
  return `${[invocation.start, options].join(" ").trimEnd()} --seed ${shellWordFor(seed, shellOf())}${invocation.end}`;
}

function shortened(body: Buffer): string {
  const text = body.toString("utf8");
  const more = text.length - BODY_SHOWN_CHARACTERS;
  return more > 0 ? `${text.slice(0, BODY_SHOWN_CHARACTERS)}… (${more} characters more)` : text;
}
