import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import { outline, type Wanted } from "./outline.ts";

/** Levels of nesting that an envelope may have. The service's own have four or five. */
const DEEPEST = 64;

/** To build what is larger takes longer than to look for what is read. */
const LARGE_BYTES = 64 * 1_024;
const READ: Wanted = { id: true, type: true, data: { object: { id: true } } };

/** Objects are named by short texts; anything else names none. */
const objectIdSchema = z.string().min(1).max(256);

/**
 * The least that makes an envelope an event. Everything beside it may change, and is none of the inbox's business: it
 * is neither looked at nor copied.
 */
const eventSchema = z.object({
  id: eventIdSchema,
  type: z.string(),
  data: z
    .object({ object: z.object({ id: objectIdSchema }) })
    .optional()
    .catch(undefined),
});

export type ParsedEnvelope =
  | { ok: true; id: string; type: string; objectId: string | null }
  | { ok: false; error: "invalid_json" | "invalid_event"; message: string };

/** Takes apart the body of a delivery whose signature was verified. Never throws, whatever it holds. */
export function parseEnvelope(body: Uint8Array): ParsedEnvelope {
  if (!isUtf8(body)) return invalidJson("The body is not UTF-8.");
  // A byte order mark stays in the text, where JSON.parse refuses it.
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const outlined = bytes.length > LARGE_BYTES ? outline(bytes, READ, DEEPEST) : undefined;
  const json = parseJson(outlined ?? bytes.toString("utf8"));
  if (!json.ok) return invalidJson("The body is not JSON.");
  if (outlined === undefined && isDeeper(body, DEEPEST))
    return invalidEvent(`The body is nested deeper than ${String(DEEPEST)} levels.`);

  const event = eventSchema.safeParse(json.value);
  if (!event.success) {
    const [issue] = event.error.issues;
    return invalidEvent(
      `The body is no event: ${issue?.path.join(".") || "it"}: ${issue?.message ?? "invalid"}.`,
    );
  }
  const { id, type, data } = event.data;
  return { ok: true, id, type, objectId: data?.object.id ?? null };
}

function invalidJson(message: string): ParsedEnvelope {
  return { ok: false, error: "invalid_json", message };
}

function invalidEvent(message: string): ParsedEnvelope {
  return { ok: false, error: "invalid_event", message };
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Whether valid JSON is nested deeper than `levels`; without recursion, since a sender may well try a million brackets. */
function isDeeper(json: Uint8Array, levels: number): boolean {
  // Nearly every body is done with here.
  if (!hasMoreThan(json, levels)) return false;
  let level = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (quoted) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      level += 1;
      if (level > levels) return true;
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) level -= 1;
  }
  return false;
}

/** Whether there are more opening brackets than `levels`, wherever they stand. */
function hasMoreThan(json: Uint8Array, levels: number): boolean {
  let found = 0;
  for (const bracket of [OPENING_BRACKET, OPENING_BRACE]) {
    for (let at = json.indexOf(bracket); at !== -1; at = json.indexOf(bracket, at + 1)) {
      found += 1;
      if (found > levels) return true;
    }
  }
  return false;
}
