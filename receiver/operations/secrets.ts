import { unescape } from "node:querystring";
import type { Config } from "../config.ts";

/** Variables that handlers do not get: secrets to sign events or to act as an operator, and what is only allowed beside them. */
export const NOT_FOR_HANDLERS: ReadonlySet<string> = new Set([
  "SIGNING_SECRET",
  "SIGNING_SECRET_FILE",
  "ADMIN_TOKEN",
  "ADMIN_TOKEN_FILE",
  "ADMIN_HOST",
]);

/** Takes secrets out of a text. Applied before the text is shortened: half a secret is not found. */
export type Redact = (text: string) => string;

/** Shorter secrets are not looked for: they are in many texts by chance. */
const SHORTEST_CHARACTERS = 8;

const REDACTED = "[redacted]";
const USER_INFO = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'<>\\@]{1,1000}@/gi;

/** The values of the configuration that must not be in a log, a report or an answer. */
export function secretsOf(
  config: Pick<Config, "signingSecrets" | "api" | "adminToken" | "databaseUrl">,
): string[] {
  const password = config.databaseUrl === undefined ? "" : new URL(config.databaseUrl).password;
  const { signingSecrets, adminToken = "", api } = config;
  return [...signingSecrets, adminToken, api?.key ?? "", password, unescape(password)];
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
