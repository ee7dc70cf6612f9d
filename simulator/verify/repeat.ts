import { printfOf, quoted } from "../text/shell-words.ts";
import { shellSignature } from "../signature-recipe/shell.ts";
import type { SentRequest } from "./delivery.ts";
import { shellPieces } from "./pieces.ts";
import { withoutUserInfo } from "../text/redact.ts";

/** Maximum length of a printed curl command; a shell takes more, but people do not read more. */
const CURL_MAXIMUM_CHARACTERS = 32_768;
const CURL_BODY_MAXIMUM_BYTES = 8_192;
/** Headers that curl sets itself, or that do not matter. */
const CURLS_OWN = new Set(["host", "content-length", "connection", "user-agent"]);
/** The service waits no longer for an answer (SPEC §8). */
const CURL_SECONDS = 10;

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

/** What makes curl send what it reads as soon as it has read it, as one body of a length that is known. */
function piecewise(bytes: number): string {
  return `-X POST -T - -H 'Content-Length: ${bytes}' -H 'Transfer-Encoding:' -H 'Expect:'`;
}
