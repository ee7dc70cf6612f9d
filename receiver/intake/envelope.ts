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
  if (!isUtf8(body)) return refuse("invalid_json", "The body is not UTF-8.");
  // A byte order mark stays in the text, where JSON.parse refuses it.
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const outlined = bytes.length > LARGE_BYTES ? outline(bytes, READ, DEEPEST) : undefined;
  const json = parseJson(outlined ?? bytes.toString("utf8"));
  if (!json.ok) return refuse("invalid_json", "The body is not JSON.");
  if (outlined === undefined && isDeeper(json.value, DEEPEST))
    return refuse("invalid_event", `The body is nested deeper than ${String(DEEPEST)} levels.`);

  const event = eventSchema.safeParse(json.value);
  if (!event.success) {
    const [{ path, message } = { path: [], message: "invalid" }] = event.error.issues;
    return refuse("invalid_event", `The body is no event: ${path.join(".") || "it"}: ${message}.`);
  }
  const { id, type, data } = event.data;
  return { ok: true, id, type, objectId: data?.object.id ?? null };
}

function refuse(error: "invalid_json" | "invalid_event", message: string): ParsedEnvelope {
  return { ok: false, error, message };
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

/** Whether a value of JSON is nested deeper than `levels`. Looks no further down than that, whatever a sender tries. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
