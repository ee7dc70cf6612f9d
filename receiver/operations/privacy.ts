import { isEventType } from "../../shared/events.ts";

/**
 * What may be shown of an event, in one place. It is a list of what is harmless, by field and pattern: everything else
 * that an event contains may be about a person, whatever the service will come to send. A field counts only where the
 * service has it: a customer's `created` may be anything.
 */
const HARMLESS: Readonly<Record<"envelope" | "object", Fields>> = {
  envelope: {
    id: like(/^evt_[0-9a-f]{32}$/i),
    type: (value) => typeof value === "string" && isEventType(value),
    created: between(1_000_000_000, 4_102_444_800),
    api_version: like(/^v[0-9]{1,3}$/),
    org_id: like(/^org_[0-9a-f]{16,40}$/i),
  },
  object: {
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
  },
};

type Fields = Readonly<Record<string, (value: unknown) => boolean>>;

/** Where in an envelope a value stands: the fields of `data.object` have meanings of their own. */
export type Place = "envelope" | "data" | "object" | "elsewhere";

/** The place of what `name` holds. */
export function placeWithin(place: Place, name: string): Place {
  if (place === "envelope" && name === "data") return "data";
  return place === "data" && name === "object" ? "object" : "elsewhere";
}

/** Whether the field `name` may be shown with this value, at this place of an event. */
export function isHarmless(place: Place, name: string, value: unknown): boolean {
  if (place !== "envelope" && place !== "object") return false;
  const fields = HARMLESS[place];
  return Object.hasOwn(fields, name) && fields[name]?.(value) === true;
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

/** Words of the service: they say nothing about anybody, though what a field of that name holds may. */
export const DOCUMENTED: ReadonlySet<string> = new Set([
  ...Object.keys(HARMLESS.envelope),
  ...Object.keys(HARMLESS.object),
  "call",
  "voicemail",
  "order",
  "booking",
  "data",
  "phone",
  "transcript",
  "recording_url",
  "transfer_to",
  "customer_name",
  "message_text",
  "notes",
]);

export const REDACTED_TEXT = "[redacted]";
export const REDACTED_PHONE = "+10000000000";
const ID_PREFIX = /^(?:evt|call|vm|ag|org)_/;

/** The type of an event where it is shown or counted: anybody with a secret can make up others. */
export function knownType(type: string): string {
  return isEventType(type) ? type : "other";
}

/** The type of an event for operators, who have to know of new ones: what has another form than all types is none. */
export function shownType(type: string): string {
  return /^[a-z_]{1,30}(?:\.[a-z_]{1,30}){1,3}$/.test(type) ? type : "other";
}

/**
 * A copy of an envelope with nothing in it but what is harmless, still valid by its schema: phone numbers become
 * `+10000000000`, other texts `[redacted]`, numbers 0, unknown fields `field_1`, `field_2` …
 */
export function redactEnvelope(envelope: unknown): unknown {
  return redact(envelope, "envelope");
}

/** `place` is that of the fields of `value`, should it have any. */
function redact(value: unknown, place: Place, name = ""): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => redact(item, "elsewhere"));
  if (isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([inner, held], index) => [
        DOCUMENTED.has(inner) ? inner : `field_${String(index + 1)}`,
        isHarmless(place, inner, held) ? held : redact(held, placeWithin(place, inner), inner),
      ]),
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

/** Whether a value of JSON is an object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
