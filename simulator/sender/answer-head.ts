/** The head of an answer. Names are in lower case and in their order, repeated ones included. */
export type AnswerHead = { status: number; headers: readonly (readonly [name: string, value: string])[] };

/** The length of an answer's body (RFC 9112 §6.3). */
export type Framing = { kind: "until_end" } | { kind: "chunked" } | { kind: "length"; bytes: number };

/** A parsed head; `kept` is true if the other side keeps the connection. */
export type ParsedHead =
  | { ok: true; head: AnswerHead; framing: Framing; kept: boolean }
  | { ok: false; problem: string };

const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const LENGTH = /^\d{1,15}$/;
const SHOWN_CHARACTERS = 60;

/** Parses the head of an answer, without the empty line after it, as strictly as a sender must. */
export function parseHead(text: string): ParsedHead {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const [, minor, digits] = STATUS_LINE.exec(statusLine) ?? [];
  if (digits === undefined) return refuse(`${shown(statusLine)} is not a status line`);
  const headers: [string, string][] = [];
  for (const line of lines) {
    const colon = Math.max(0, line.indexOf(":"));
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1);
    if (!NAME.test(name) || !VALUE.test(value)) return refuse(`${shown(line)} is not a header`);
    headers.push([name.toLowerCase(), value.trim()]);
  }
  const head = { status: Number(digits), headers };
  const framing = framingOf(head);
  if (typeof framing === "string") return refuse(framing);
  return { ok: true, head, framing, kept: framing.kind !== "until_end" && isKept(minor === "1", headers) };
}

function framingOf({ status, headers }: AnswerHead): Framing | string {
  const lengths = valuesOf(headers, "content-length");
  const codings = valuesOf(headers, "transfer-encoding");
  const [length] = lengths;
  if (lengths.length > 1) return "it has several lengths";
  if (length !== undefined && !LENGTH.test(length)) return `${shown(length)} is not a length`;
  if (length !== undefined && codings.length > 0) return "it has both a length and a transfer encoding";
  if (status < 200 || status === 204 || status === 304) return { kind: "length", bytes: 0 };
  const isChunked = /(?:^|[,\s])chunked$/i.test(codings.at(-1) ?? "");
  if (isChunked) return { kind: "chunked" };
  return length === undefined ? { kind: "until_end" } : { kind: "length", bytes: Number(length) };
}

function isKept(isCurrentVersion: boolean, headers: AnswerHead["headers"]): boolean {
  const words = valuesOf(headers, "connection").join(",").toLowerCase();
  return isCurrentVersion ? !words.includes("close") : words.includes("keep-alive");
}

function valuesOf(headers: AnswerHead["headers"], name: string): string[] {
  return headers.filter(([known]) => known === name).map(([, value]) => value);
}

function refuse(problem: string): ParsedHead {
  return { ok: false, problem };
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, SHOWN_CHARACTERS));
}
