import { unescape } from "node:querystring";
import { isEventType } from "../../shared/events.ts";
import type { Config } from "../config.ts";
import type { InboxEvent } from "../store/port.ts";

export const REDACTED = "[redacted]";

const LONGEST_MESSAGE = 300;
const LONGEST_READ = 10_000;
/** Shorter secrets occur in many texts by chance. */
const SHORTEST_SECRET = 8;
/** User info in URLs, e-mail addresses, and phone numbers in common notations. Bounded, so that each match is linear. */
const PERSONAL =
  /(?<=:\/\/)[^\s/?#"'<>\\@]{1,200}@|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}|\+\d[\d ().-]{5,20}\d|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b|\b\d{10,15}\b/g;

/**
 * Returns a function that prepares a thrown message for storage and logs: it masks secrets, phone numbers and e-mail
 * addresses, and cuts the text to 300 characters.
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

/** Values of the configuration that no message may contain. */
export function secretsOf({
  signingSecrets,
  adminToken = "",
  api,
  databaseUrl,
}: Pick<Config, "signingSecrets" | "adminToken" | "api" | "databaseUrl">): string[] {
  const { password } = new URL(databaseUrl ?? "postgres://");
  return [...signingSecrets, adminToken, api?.key ?? "", password, unescape(password)];
}

/** An event type as a label; `other` if the service does not document it, since a sender can invent any. */
export function knownType(type: string): string {
  return isEventType(type) ? type : "other";
}

/** An event as JSON for programs. */
export function presentEvent(event: InboxEvent): Record<string, unknown> {
  const { id, type, state, deferredUntilMs, ...known } = event;
  const deferred = deferredUntilMs === null ? {} : { deferredUntilMs };
  return inSnakeCase({ id, type: type && shownType(type), state, ...known, ...deferred });
}

/** An event type for operators, including new ones; `other` if it does not look like a type, `pruned` if it was pruned. */
export function shownType(type: string | null): string {
  if (type === null) return "pruned";
  return /^[a-z_]{1,30}(?:\.[a-z_]{1,30}){1,3}$/.test(type) ? type : "other";
}

/** Names in snake_case and times as ISO 8601, at any depth. */
export function inSnakeCase(fields: object): Record<string, unknown> {
  const shown = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shown);
    return typeof value === "object" && value !== null ? inSnakeCase(value) : value;
  };
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      const words = name.replace(/(?<=[aA]t|Until)Ms$/, "");
      const isMoment = words !== name && typeof value === "number";
      const label = words.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [label, isMoment ? new Date(value).toISOString() : shown(value)];
    }),
  );
}

/** A longer envelope is cut here: formatting it would delay other answers. */
const LONGEST_PRETTY = 65_536;

/** The lines of an envelope, redacted, one value per line. */
export function prettyEnvelope(body: Uint8Array): string[] {
  const text = JSON.stringify(redactEnvelope(new TextDecoder().decode(body)), null, 2);
  return (text.length > LONGEST_PRETTY ? `${text.slice(0, LONGEST_PRETTY)}…` : text).split("\n");
}

/** Names that look like code; others may be data. */
const NAME_IN_CODE = /^[a-z][a-zA-Z_]{0,39}$/;
/** Fields whose values may be shown, and the form those values must have. */
const HARMLESS_NAME =
  /^(?:(?:\w{1,20}_)?id|type|object|outcome|reason|status|created_at|api_version|detected_language)$/;
const HARMLESS_TEXT =
  /^(?:[a-z]{2,8}_[\da-f]{16,40}|v\d{1,3}|[a-z_]{1,30}(?:\.[a-z_]{1,30}){0,3}|[a-z]{2}-[A-Z]{2}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/;
const TIME_NAMES = new Set(["created", "duration_sec"]);

/**
 * A redacted envelope: phone numbers become `+10000000000`, other texts `[redacted]`, and numbers that may be phone numbers
 * 0. The simulator's `replay` can send it.
 */
export function redactEnvelope(json: string): unknown {
  let unnamed = 0;
  const shownName = (name: string): string =>
    NAME_IN_CODE.test(name) ? name : `field_${String((unnamed += 1))}`;
  return JSON.parse(json, (name, value: unknown) => {
    if (typeof value === "number" && !TIME_NAMES.has(name))
      return /(?<!\d)\d{7,15}(?!\d)/.test(String(value)) ? 0 : value;
    if (typeof value === "string") {
      if (HARMLESS_NAME.test(name) && HARMLESS_TEXT.test(value)) return value;
      return /^\+\d+$/.test(value) ? "+10000000000" : REDACTED;
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]: [string, unknown]) => [shownName(key), one]),
    );
  });
}
