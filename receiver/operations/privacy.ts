import { isEventType } from "../../shared/events.ts";

/** What is known of the fields of an object: which values may be shown, or what is known of the fields within. */
export type Fields = { readonly [name: string]: Fields | ((value: unknown) => boolean) };

const OBJECT = {
  // Sixteen digits are more than any phone number has.
  id: like(/^(?:call|vm|order|booking)_[0-9a-f]{16,40}$/i),
  call_id: like(/^call_[0-9a-f]{16,40}$/i),
  agent_id: like(/^ag_[0-9a-f]{16,40}$/i),
  object: like(/^(?:call|voicemail|order|booking)$/),
  outcome: like(/^(?:completed|transferred|voicemail)$/),
  reason: like(/^after_hours$/),
  detected_language: like(/^[a-z]{2}(?:-[A-Z]{2})?$/),
  created_at: like(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/),
  duration_sec: between(0, 86_400),
  transferred: isBoolean,
  transfer_succeeded: isBoolean,
  reviewed: isBoolean,
  callback_made: isBoolean,
};

/**
 * What may be shown of an event, as an allow list by field and pattern. Everything else that an event contains may be about
 * a person, whatever the service will send in future. A field counts only at its own place: a customer's `created` may be
 * anything.
 */
export const ENVELOPE = {
  id: like(/^evt_[0-9a-f]{32}$/i),
  type: (value: unknown) => typeof value === "string" && isEventType(value),
  created: between(1_000_000_000, 4_102_444_800),
  api_version: like(/^v[0-9]{1,3}$/),
  org_id: like(/^org_[0-9a-f]{16,40}$/i),
  data: { object: OBJECT },
} satisfies Fields;

/** Whether the field `name` may be shown with this value, and what is known of the fields within it. */
export function judge(
  fields: Fields | undefined,
  name: string,
  value: unknown,
): { isHarmless: boolean; within: Fields | undefined } {
  const known = fields && Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (typeof known === "function") return { isHarmless: known(value), within: undefined };
  return { isHarmless: false, within: known };
}

function like(pattern: RegExp): (value: unknown) => boolean {
  return (value) => typeof value === "string" && pattern.test(value);
}

function between(least: number, most: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

/** Names of fields that the service documents. A name is harmless, while the value of such a field may not be. */
export const DOCUMENTED: ReadonlySet<string> = new Set([
  ...Object.keys(ENVELOPE),
  ...Object.keys(OBJECT),
  ..."call voicemail order booking phone transcript recording_url transfer_to".split(" "),
  ..."customer_name message_text notes".split(" "),
]);

export const REDACTED_TEXT = "[redacted]";
export const REDACTED_PHONE = "+10000000000";
const ID_PREFIX = /^(?:evt|call|vm|ag|org)_/;

/** The type of an event where it is logged or counted; `other` where the service has none such: a sender can make up any. */
export function knownType(type: string): string {
  return isEventType(type) ? type : "other";
}

/** The type of an event for operators, new types too; `other` where it does not have the form of a type. */
export function shownType(type: string): string {
  return /^[a-z_]{1,30}(?:\.[a-z_]{1,30}){1,3}$/.test(type) ? type : "other";
}

/**
 * A copy of an envelope with only what is harmless, still valid by its schema: phone numbers become `+10000000000`, other
 * texts `[redacted]`, numbers 0, names of unknown fields `field_1`, `field_2` …
 */
export function redactEnvelope(envelope: unknown): unknown {
  return redact(envelope, ENVELOPE);
}

function redact(value: unknown, fields: Fields | undefined, name = ""): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => redact(item, undefined));
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([inner, held], index) => {
        const { isHarmless, within } = judge(fields, inner, held);
        const shown = DOCUMENTED.has(inner) ? inner : `field_${String(index + 1)}`;
        return [shown, isHarmless ? held : redact(held, within, inner)];
      }),
    );
  }
  if (value === null) return null;
  if (typeof value === "string") return redactText(value, name);
  return typeof value === "boolean" ? false : 0;
}

function redactText(text: string, field: string): string {
  // An id keeps its prefix, by which schemas know it.
  if (field === "id" || field.endsWith("_id")) return (ID_PREFIX.exec(text)?.[0] ?? "") + REDACTED_TEXT;
  return /^\+[0-9]+$/.test(text) ? REDACTED_PHONE : REDACTED_TEXT;
}

/** What a text says in JSON; undefined where it is none. */
export function parsedOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value of JSON is an object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
