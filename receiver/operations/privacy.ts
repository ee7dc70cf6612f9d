import { isEventType } from "../../shared/events.ts";
import type { Config } from "../config.ts";

export const REDACTED = "[redacted]";

/** Variables that handlers do not get: secrets that sign events or let an operator in, and what is only allowed beside them. */
export const NOT_FOR_HANDLERS: ReadonlySet<string> = new Set(
  "SIGNING_SECRET SIGNING_SECRET_FILE ADMIN_TOKEN ADMIN_TOKEN_FILE ADMIN_HOST".split(" "),
);

const LONGEST_MESSAGE = 300;
const LONGEST_READ = 10_000;
/** A page of a longer text would hold up other answers. */
const LONGEST_PRETTY = 65_536;
/** Shorter secrets are in many texts by chance. */
const SHORTEST_SECRET = 8;
/** User info in URLs, e-mail addresses, and phone numbers as people and programs write them. Bounded, so that each is linear. */
const PERSONAL =
  /(?<=:\/\/)[^\s/?#"'<>\\@]{1,200}@|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}|\+\d[\d ().-]{5,20}\d|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b|\b\d{10,15}\b/g;

/**
 * Returns a function that makes a thrown message fit to be kept and logged: secrets, phone numbers and e-mail addresses are
 * masked, and 300 characters are left of it.
 */
export function createCleaner(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .filter(({ length }) => length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
    .toSorted((left, right) => right.length - left.length);
  return (text) => {
    let clean = text.slice(0, LONGEST_READ);
    for (const form of forms) clean = clean.replaceAll(form, REDACTED);
    return clean.replaceAll(PERSONAL, REDACTED).slice(0, LONGEST_MESSAGE);
  };
}

/** The values of the configuration that no message may hold. */
export function secretsOf({
  signingSecrets,
  adminToken = "",
  api,
  databaseUrl,
}: Pick<Config, "signingSecrets" | "adminToken" | "api" | "databaseUrl">): string[] {
  const { password } = new URL(databaseUrl ?? "postgres://");
  return [...signingSecrets, adminToken, api?.key ?? "", password, decodeURIComponent(password)];
}

/** The type of an event as a label; `other` if the service documents none such, since a sender can make up any. */
export function knownType(type: string): string {
  return isEventType(type) ? type : "other";
}

/** The type of an event for operators, new types too; `other` if it has not the form of a type. */
export function shownType(type: string): string {
  return /^[a-z_]{1,30}(?:\.[a-z_]{1,30}){1,3}$/.test(type) ? type : "other";
}

/** Names that only code gives; others may be data. */
const NAME_IN_CODE = /^"[a-z][a-zA-Z_]{0,39}"$/;
/** Fields whose values may be shown, and the form that such a value has. */
const HARMLESS_NAME =
  /^"(?:(?:\w{1,20}_)?id|type|object|outcome|reason|status|created_at|api_version|detected_language)"$/;
const HARMLESS_TEXT =
  /^"(?:[a-z]{2,8}_[\da-f]{16,40}|v\d{1,3}|[a-z_]{1,30}(?:\.[a-z_]{1,30}){0,3}|[a-z]{2}-[A-Z]{2}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"$/;
const TIME_NAMES = new Set(['"created"', '"duration_sec"']);
const PUNCTUATION = new Set("{}[],:");
const PLAIN = /[^"{}[\],:]+/y;

/**
 * The pieces of a JSON text, one after the other, so that a large one can be written with pauses. With `hides`, what may be
 * about a person is masked: phone numbers become `+10000000000`, other texts `[redacted]`, numbers that may be phone numbers
 * 0. Everything else keeps its own text. The text must be valid JSON.
 */
export function* piecesOf(json: string, { hides }: { hides: boolean }): Generator<string> {
  let name = "";
  let unnamed = 0;
  for (let at = 0; at < json.length;) {
    const piece = pieceAt(json, at);
    at += piece.length;
    if (!hides || PUNCTUATION.has(piece)) {
      if (piece !== ":") name = "";
      yield piece;
    } else if (!piece.startsWith('"')) {
      yield TIME_NAMES.has(name) || !/(?<!\d)\d{7,15}(?!\d)/.test(piece) ? piece : "0";
    } else if (/\s*:/y.test(json.slice(at, at + 64))) {
      name = piece;
      yield NAME_IN_CODE.test(piece) ? piece : `"field_${String((unnamed += 1))}"`;
    } else {
      yield HARMLESS_NAME.test(name) && HARMLESS_TEXT.test(piece) ? piece : maskOf(piece);
    }
  }
}

function maskOf(text: string): string {
  return /^"\+\d+"$/.test(text) ? '"+10000000000"' : `"${REDACTED}"`;
}

/** A punctuation mark, a text with its quotes, or what is between those. */
function pieceAt(json: string, from: number): string {
  const first = json.charAt(from);
  if (PUNCTUATION.has(first)) return first;
  if (first === '"') {
    let at = from + 1;
    while (at < json.length && json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
    return json.slice(from, at + 1);
  }
  PLAIN.lastIndex = from;
  return PLAIN.exec(json)?.[0] ?? first;
}

/** JSON with a value a line, cut at 65,536 characters. Indentation stops at ten levels, so that depth does not lengthen it. */
export function prettyJson(pieces: Iterable<string>): string {
  let depth = 0;
  let text = "";
  const line = (): string => `\n${"  ".repeat(Math.min(depth, 10))}`;
  for (const piece of pieces) {
    if (text.length > LONGEST_PRETTY) return `${text}…`;
    if (piece === "{" || piece === "[") depth += 1;
    if (piece === "}" || piece === "]") depth -= 1;
    if (piece === "}" || piece === "]") text += line() + piece;
    else if (piece === ":") text += ": ";
    else text += PUNCTUATION.has(piece) ? piece + line() : piece.trim();
  }
  return text.replaceAll(/([{[])\n\s*([}\]])/g, "$1$2");
}
