import { z } from "zod";

/** Fields of the service's objects that hold what a caller said or who the caller is. */
export const PERSONAL_FIELDS = new Set([
  "phone",
  "transcript",
  "message_text",
  "customer_name",
  "recording_url",
  "notes",
  "transfer_to",
]);

const PHONE = /\+[0-9]{6,15}/g;
const REDACTED_PHONE = "+10000000000";
const REDACTED_TEXT = "[redacted]";

const recordSchema = z.record(z.string(), z.unknown());

/**
 * A copy of an envelope without personal data, still valid by its schema: phone numbers become `+10000000000`, texts
 * become `[redacted]`. A field that isn't known to be harmless, such as those of an order, loses its text too.
 */
export function redactEnvelope(envelope: unknown): unknown {
  const parsed = recordSchema.safeParse(envelope);
  if (!parsed.success) return REDACTED_TEXT;
  const data = recordSchema.safeParse(parsed.data["data"]);
  if (!data.success) return parsed.data;
  return { ...parsed.data, data: { ...data.data, object: redactObject(data.data["object"]) } };
}

/** Fields whose text says nothing about a person, on every kind of object. */
const HARMLESS_FIELDS = new Set([
  "object",
  "id",
  "agent_id",
  "call_id",
  "outcome",
  "detected_language",
  "reason",
  "created_at",
  "status",
]);

function redactObject(object: unknown): unknown {
  const parsed = recordSchema.safeParse(object);
  if (!parsed.success) return redactText(object);
  return Object.fromEntries(
    Object.entries(parsed.data).map(([field, value]) => [
      field,
      HARMLESS_FIELDS.has(field) ? value : redactValue(value),
    ]),
  );
}

function redactValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value === "object" && value !== null) return redactObject(value);
  return redactText(value);
}

function redactText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return /^\+[0-9]+$/.test(value) ? REDACTED_PHONE : REDACTED_TEXT;
}

/** `text` without phone numbers and without any personal text of the event that `body` holds: safe to log and to store. */
export function scrub(text: string, body: Uint8Array): string {
  const secrets = new Set<string>();
  collect(parseOrNothing(body), secrets);
  let scrubbed = text;
  // The longest first, so that no text hides behind a part of it that was replaced already.
  for (const secret of [...secrets].toSorted((a, b) => b.length - a.length)) {
    scrubbed = scrubbed.replaceAll(secret, REDACTED_TEXT);
  }
  return scrubbed.replace(PHONE, REDACTED_PHONE).slice(0, 1_000);
}

function parseOrNothing(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    return undefined;
  }
}

function collect(value: unknown, into: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, into);
    return;
  }
  const parsed = recordSchema.safeParse(value);
  if (!parsed.success) return;
  for (const [field, inner] of Object.entries(parsed.data)) {
    if (PERSONAL_FIELDS.has(field) && typeof inner === "string" && inner !== "") into.add(inner);
    else collect(inner, into);
  }
}
