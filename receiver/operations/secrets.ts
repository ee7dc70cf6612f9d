import type { Config } from "../config.ts";

/** Variables that would let handlers sign events, or ask as an operator; and the port that they have nothing to do with. */
export const NOT_FOR_HANDLERS: ReadonlySet<string> = new Set([
  "SIGNING_SECRET",
  "SIGNING_SECRET_FILE",
  "ADMIN_TOKEN",
  "ADMIN_TOKEN_FILE",
  "ADMIN_HOST",
]);

/** Takes secrets out of a text before it is shown, logged, kept or shortened. */
export type Redact = (text: string) => string;

/** Anything shorter stands in many a text by chance. */
const SHORTEST_CHARACTERS = 8;

const REDACTED = "[redacted]";
const USER_INFO = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'<>\\@]{1,1000}@/gi;

/** What of the configuration nobody may read in a log, a report or an answer. */
export function secretsOf(
  config: Pick<Config, "signingSecrets" | "api" | "adminToken" | "databaseUrl">,
): string[] {
  const password = config.databaseUrl === undefined ? "" : new URL(config.databaseUrl).password;
  const { signingSecrets, adminToken = "", api } = config;
  return [...signingSecrets, adminToken, api?.key ?? "", password, decoded(password)];
}

/** Answers what replaces each of `secrets`, as it stands or as JSON, a text in JSON or a URL has it, and the user info of every URL. */
export function createRedactor(secrets: readonly string[]): Redact {
  const forms = new Set(
    secrets
      .filter(({ length }) => length >= SHORTEST_CHARACTERS)
      .flatMap((secret) => [secret, asJson(secret), asJson(asJson(secret)), encodeURIComponent(secret)]),
  );
  // The longest first: one may be a part of another.
  const sorted = [...forms].toSorted((left, right) => right.length - left.length);
  return (text) => {
    let shown = text;
    for (const form of sorted) shown = shown.replaceAll(form, REDACTED);
    return shown.includes("@") ? shown.replaceAll(USER_INFO, `$1${REDACTED}@`) : shown;
  };
}

function asJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
