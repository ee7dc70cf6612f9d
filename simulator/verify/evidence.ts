import { shellSignature } from "../signature-recipe/shell.ts";
import { withoutUserInfo } from "../text/redact.ts";
import { printfOf, quoted, shellWord } from "../text/shell-words.ts";
import type { Exchange, Pieces, SentRequest } from "./delivery.ts";
import type { CheckResult, Report } from "./report.ts";

/** Maximum length of a printed curl command; a shell takes more, but people do not read more. */
const CURL_MAXIMUM_CHARACTERS = 32_768;
const CURL_BODY_MAXIMUM_BYTES = 8_192;
/** Headers that curl sets itself, or that do not matter. */
const CURLS_OWN = new Set(["host", "content-length", "connection", "user-agent"]);
/** The service waits no longer for an answer (SPEC §8). */
const CURL_SECONDS = 10;
const BODY_SHOWN_CHARACTERS = 600;

export type Evidence = ReturnType<typeof evidenceOf>;

type Received =
  | { status: number; headers: [string, string][]; body: string }
  | { error: string; message: string };

/** The request and the answer, ready for any report format. */
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
    curl: curlFor(request),
  };
}

/** The command that runs one check again, with the same events. */
export function repeatCommand(
  { invocation, seed }: Pick<Report, "invocation" | "seed">,
  { check }: CheckResult,
): string {
  const options = check.again ?? `--only ${check.id}`;
  return `${[invocation.start, options].join(" ").trimEnd()} --seed ${shellWord(seed)}${invocation.end}`;
}

function shortened(body: Buffer): string {
  const text = body.toString("utf8");
  const more = text.length - BODY_SHOWN_CHARACTERS;
  return more > 0 ? `${text.slice(0, BODY_SHOWN_CHARACTERS)}… (${more} characters more)` : text;
}

/**
 * Lines for bash or zsh that send `request` once more, dated and signed afresh by the same recipe with
 * `$SIGNING_SECRET`; undefined where curl cannot send it so, or where it is too large for a command line.
 */
export function curlFor(request: SentRequest): string | undefined {
  const { body, signature, note, pieces } = request;
  if ((note !== undefined && pieces === undefined) || body.length > CURL_BODY_MAXIMUM_BYTES) return undefined;
  const signing = shellSignature(signature.recipe, signature.headerName);
  if (signing === undefined) return undefined;

  const others = request.headers.filter(
    ([name]) => !CURLS_OWN.has(name.toLowerCase()) && name !== signature.headerName,
  );
  const hasType = others.some(([name]) => name.toLowerCase() === "content-type");
  const url = new URL(request.url);
  const lines = [
    `body() { ${printfOf(body)}; }`,
    ...signing.lines,
    [
      `${pieces === undefined ? "body" : shellPieces(pieces)} | curl -sS -i -m ${CURL_SECONDS}`,
      ...(request.httpVersion === "1.0" ? ["--http1.0"] : url.protocol === "https:" ? ["--http1.1"] : []),
      ...(hasType ? [] : ["-H 'Content-Type:'"]),
      ...others.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
      ...signing.headers.map((word) => `-H ${word}`),
      pieces === undefined ? "--data-binary @-" : piecewise(body.length),
      ...(/[[\]{}]/.test(url.href) ? ["-g"] : []),
      quoted(withoutUserInfo(url.href)),
    ].join(" "),
  ].join("\n");
  return lines.length > CURL_MAXIMUM_CHARACTERS ? undefined : lines;
}

/** Makes curl send its input as soon as it reads it, as one body of known length. */
function piecewise(bytes: number): string {
  return `-X POST -T - -H 'Content-Length: ${bytes}' -H 'Transfer-Encoding:' -H 'Expect:'`;
}

/** One shell command that writes what the command `body` writes in the same pieces. */
function shellPieces({ cutAt, pauseMs }: Pieces): string {
  const starts = [0, ...cutAt];
  const commands = starts.map((start, index) => {
    const end = starts[index + 1];
    const from = start === 0 ? "" : ` | tail -c +${start + 1}`;
    return `body${from}${end === undefined ? "" : ` | head -c ${end - start}`}`;
  });
  return `{ ${commands.join(`; sleep ${pauseMs / 1_000}; `)}; }`;
}
