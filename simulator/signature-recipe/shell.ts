import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/signature.ts";
import { isPrintable } from "../../shared/text.ts";
import { printfOf, quoted } from "../text/shell-words.ts";
import type { Digest, Moment, Part, SignatureRecipe, Spelling } from "./recipe.ts";

/** Shell lines that make a signature, and its headers, each as one word for curl's `-H`. */
export type ShellSignature = { lines: string[]; headers: string[] };

const SPELLED = new Set<Spelling>(["hex", "upper-case hex", "base64", "base64url"]);

/** Shell lines that sign by `recipe`, with `$SIGNING_SECRET`; undefined for recipes that only `explain` uses. */
export function shellSignature(recipe: SignatureRecipe, headerName: string): ShellSignature | undefined {
  const digests = uniqueDigests(recipe.headers.flat());
  if (!digests.every(isForShell)) return undefined;
  const moments = momentsIn([...recipe.t, ...recipe.headers.flat(), ...digests.flatMap(messageOf)]);
  const sharesTime = moments.length > 1;
  const now = sharesTime ? "$NOW" : "$(date +%s)";
  const names = new Map(digests.map((one, index) => [nameless(one), `V${index + 1}`]));
  const scene = { now, names, body: recipe.signedBody === undefined ? "body" : "signed" };

  const signing = digests.map(
    (one, index) =>
      `V${index + 1}=$(${messageCommand(messageOf(one), scene)} | ${hashCommand(one, recipe.key)})`,
  );
  const headers = recipe.headers.map((parts) =>
    // With nothing after the colon curl would not send the header.
    parts.length === 0 ? quoted(`${headerName};`) : wordOf([`${headerName}: `, ...parts], scene),
  );
  const showsTime = headers.some(namesTime);
  const usesTime = showsTime || signing.some(namesTime);
  const lines: string[] = [];
  if (recipe.signedBody !== undefined) lines.push(`signed() { ${printfOf(recipe.signedBody)}; }`);
  // At a limit of the window, or if the header does not carry the time, the second must not end between signing and
  // arriving.
  if (moments.some(isAtLimit) || (usesTime && !showsTime))
    lines.push('S=$(date +%s); while [ "$(date +%s)" = "$S" ]; do sleep 0.01; done');
  if (sharesTime) lines.push("NOW=$(date +%s)");
  if (usesTime) lines.push(`T=${wordOf(recipe.t, scene)}`);
  return { lines: [...lines, ...signing], headers };
}

function namesTime(line: string): boolean {
  return /\$(?:T\b|\{T\})/.test(line);
}

function isForShell({ key, body, hash, spelling = "hex" }: Digest): boolean {
  return typeof key !== "function" && body === undefined && hash === undefined && SPELLED.has(spelling);
}

type Scene = { now: string; names: Map<string, string>; body: string };

const RIGHT_MESSAGE: readonly Part[] = [{ kind: "t" }, ".", { kind: "body" }];

function messageOf({ message = RIGHT_MESSAGE }: Digest): readonly Part[] {
  return message;
}

/** The digests of a header, without those that differ only in encoding. */
function uniqueDigests(parts: readonly Part[]): Digest[] {
  const byName = new Map(parts.filter(isDigest).map((one) => [nameless(one), one]));
  return [...byName.values()];
}

/** A key that is equal for digests of the same value in a shell. */
function nameless({ kind, message, key, spelling, body, hash }: Digest): string {
  return JSON.stringify([kind, messageOf({ kind, message }), key, spelling, body, hash]);
}

function messageCommand(parts: readonly Part[], scene: Scene): string {
  const commands: string[] = [];
  let text: Part[] = [];
  const flush = (): void => {
    if (text.length > 0) commands.push(`printf %s ${wordOf(text, scene)}`);
    text = [];
  };
  for (const part of parts) {
    const isBytes = part instanceof Uint8Array;
    if (typeof part === "string" || (!isBytes && part.kind !== "body")) {
      text.push(part);
      continue;
    }
    flush();
    commands.push(isBytes ? printfOf(part) : scene.body);
  }
  flush();
  return commands.length === 1 ? (commands[0] ?? "") : `{ ${commands.join("; ")}; }`;
}

function hashCommand({ key, spelling = "hex" }: Digest, recipeKey: string | undefined): string {
  const text = typeof key === "string" ? key : recipeKey;
  const sign = `openssl dgst -sha256 -hmac ${text === undefined ? '"${SIGNING_SECRET:?}"' : quoted(text)}`;
  if (spelling === "hex") return `${sign} -r | cut -d' ' -f1`;
  if (spelling === "upper-case hex") return `${sign} -r | cut -d' ' -f1 | tr a-f A-F`;
  const base64 = `${sign} -binary | openssl base64 -A`;
  return spelling === "base64" ? base64 : `${base64} | tr +/ -_ | tr -d =`;
}

function wordOf(parts: readonly Part[], scene: Scene): string {
  if (parts.every((part) => typeof part === "string" || part instanceof Uint8Array))
    return quoted(Buffer.concat(parts.map((part) => Buffer.from(part))));
  const pieces = parts.map((part, index) => {
    if (typeof part === "string" || part instanceof Uint8Array) return literal(part);
    const next = parts[index + 1];
    return filledIn(part, scene, typeof next === "string" && /^\w/.test(next));
  });
  return `"${pieces.join("")}"`.replace(/(?<=')""$/, "");
}

/** A literal inside double quotes; special characters leave them. */
function literal(part: string | Uint8Array): string {
  const text = Buffer.from(part).toString("latin1");
  return isPrintable(text) && !/[^\x20-\x7e]|[$`"\\!]|##/.test(text) ? text : `"${quoted(part)}"`;
}

function filledIn(
  part: Exclude<Part, string | Uint8Array>,
  { now, names }: Scene,
  isFollowed: boolean,
): string {
  if (part.kind === "moment") {
    const { ageSeconds } = part;
    if (ageSeconds === 0) return now;
    return `$((${now} ${ageSeconds > 0 ? "-" : "+"} ${Math.abs(ageSeconds)}))`;
  }
  const name = part.kind === "digest" ? (names.get(nameless(part)) ?? "V1") : "T";
  if (part.kind === "digest" && part.keep !== undefined) return `$(printf %.${part.keep}s "$${name}")`;
  // Any other digit: 1 for 0, and 0 for all the rest.
  const other = "tr 0123456789abcdef 1000000000000000";
  if (part.kind === "digest" && part.wrongDigit === "first")
    return `$(printf %.1s "$${name}" | ${other})\${${name}#?}`;
  if (part.kind === "digest" && part.wrongDigit === "last")
    return `\${${name}%?}$(printf %s "$${name}" | tail -c 1 | ${other})`;
  return isFollowed ? `\${${name}}` : `$${name}`;
}

function momentsIn(parts: readonly Part[]): Moment[] {
  return parts.filter((part) => typeof part === "object" && "kind" in part && part.kind === "moment");
}

function isDigest(part: Part): part is Digest {
  return typeof part === "object" && "kind" in part && part.kind === "digest";
}

function isAtLimit({ ageSeconds }: Moment): boolean {
  return Math.abs(Math.abs(ageSeconds) - SIGNATURE_TOLERANCE_SECONDS) <= 1;
}
