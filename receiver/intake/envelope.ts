import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";

/** Levels of nesting that an envelope may have. The service's own have four or five. */
const MAXIMUM_LEVELS = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Objects are named by short texts; anything else names none. */
const objectIdSchema = z.string().min(1).max(256);

/** The fields that make an envelope an event. All others may change: they are neither checked nor copied. */
const eventSchema = z.object({
  id: eventIdSchema,
  type: z.string(),
  data: z
    .object({ object: z.object({ id: objectIdSchema }) })
    .optional()
    .catch(undefined),
});

export type ParsedEnvelope =
  | { ok: true; id: string; type: string; objectId: string | null; envelope: unknown }
  | { ok: false; error: "invalid_json" | "invalid_event"; message: string };

/** Takes apart the body of a delivery whose signature was verified. Never throws, whatever it holds. */
export function parseEnvelope(body: Uint8Array): ParsedEnvelope {
  if (!isUtf8(body)) return refuse("invalid_json", "The body is not UTF-8.");
  // A byte order mark stays in the text, where JSON.parse refuses it.
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return refuse("invalid_json", "The body is not JSON.");
  }
  if (isNestedDeeper(body, MAXIMUM_LEVELS))
    return refuse("invalid_event", `The body is nested deeper than ${String(MAXIMUM_LEVELS)} levels.`);

  const event = eventSchema.safeParse(json);
  if (!event.success) {
    const [{ path, message } = { path: [], message: "invalid" }] = event.error.issues;
    return refuse("invalid_event", `The body is no event: ${path.join(".") || "it"}: ${message}.`);
  }
  const { id, type, data } = event.data;
  return { ok: true, id, type, objectId: data?.object.id ?? null, envelope: json };
}

function refuse(error: "invalid_json" | "invalid_event", message: string): ParsedEnvelope {
  return { ok: false, error, message };
}

/** Whether JSON is nested deeper than `levels`. By its bytes: a megabyte of brackets takes long to walk as objects. */
function isNestedDeeper(json: Uint8Array, levels: number): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) isInText = !isInText;
    else if (isInText) {
      if (byte === BACKSLASH) at += 1;
    } else if (OPENING.has(byte)) {
      depth += 1;
      if (depth > levels) return true;
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return false;
}
