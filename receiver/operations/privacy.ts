import { isEventType } from "../../shared/events.ts";
import type { Config, Environment } from "../config.ts";

export const REDACTED = "[redacted]";

/** Secrets that sign events or let an operator in, and what is only allowed beside them. */
const NOT_FOR_HANDLERS = "SIGNING_SECRET SIGNING_SECRET_FILE ADMIN_TOKEN ADMIN_TOKEN_FILE ADMIN_HOST".split(
  " ",
);

/** The environment of a process that loads handlers. What they need not know is empty: so a `.env` does not bring it back. */
export function environmentForHandlers(environment: Environment): NodeJS.ProcessEnv {
  return { ...environment, ...Object.fromEntries(NOT_FOR_HANDLERS.map((name) => [name, ""])) };
}

const LONGEST_MESSAGE = 300;
const LONGEST_READ = 10_000;
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
  return (text) =>
    forms
      .reduce((clean, form) => clean.replaceAll(form, REDACTED), text.slice(0, LONGEST_READ))
      .replaceAll(PERSONAL, REDACTED)
      .slice(0, LONGEST_MESSAGE);
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
