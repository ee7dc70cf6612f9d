import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";

/** Levels of nesting that an envelope may have. The service's own have four or five. */
const DEEPEST = 64;

/** The least that makes an envelope an event. Everything beside it may change, and is none of the inbox's business. */
const eventSchema = z.looseObject({ id: eventIdSchema, type: z.string() });

export type ParsedEnvelope =
  | { ok: true; id: string; type: string; objectId: string | null }
  | { ok: false; error: "invalid_json" | "invalid_event"; message: string };

/** Takes apart the body of a delivery whose signature was verified. Never throws, whatever it holds. */
export function parseEnvelope(body: Uint8Array): ParsedEnvelope {
  const text = decode(body);
  if (text === undefined) return invalidJson("The body is not UTF-8.");
  const json = parseJson(text);
  if (!json.ok) return invalidJson("The body is not JSON.");
  if (depth(text) > DEEPEST) return invalidEvent(`The body is nested deeper than ${String(DEEPEST)} levels.`);

  const event = eventSchema.safeParse(json.value);
  if (!event.success) {
    const [issue] = event.error.issues;
    return invalidEvent(
      `The body is no event: ${issue?.path.join(".") || "it"}: ${issue?.message ?? "invalid"}.`,
    );
  }
  return { ok: true, id: event.data.id, type: event.data.type, objectId: objectIdOf(json.value) };
}

function invalidJson(message: string): ParsedEnvelope {
  return { ok: false, error: "invalid_json", message };
}

function invalidEvent(message: string): ParsedEnvelope {
  return { ok: false, error: "invalid_event", message };
}

function decode(body: Uint8Array): string | undefined {
  try {
    // `ignoreBOM` keeps a byte order mark in the text, where JSON.parse refuses it.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

/** How deeply valid JSON is nested, without recursion: a sender may well try a million brackets. */
function depth(json: string): number {
  let level = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (quoted) {
      if (character === "\\") at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === "{" || character === "[") deepest = Math.max(deepest, (level += 1));
    else if (character === "}" || character === "]") level -= 1;
  }
  return deepest;
}

const text = z.string().min(1).max(256).optional().catch(undefined);
const objectSchema = z.object({ data: z.object({ object: z.object({ id: text }) }) });

/** What names the object; reconcile compares by it. */
function objectIdOf(envelope: unknown): string | null {
  return objectSchema.safeParse(envelope).data?.data.object.id ?? null;
}
