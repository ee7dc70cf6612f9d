import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import {
  envelopeSchema,
  eventIdSchema,
  EVENT_TYPES,
  isEventType,
  type Envelope,
} from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { didYouMean } from "../domain/suggest.ts";

/** Envelopes to send again. `open` gives them in order, from the beginning, each time that it is called. */
export type Source = { name: string; count: number; open: () => AsyncIterable<Envelope> };

export type OpenedSource = { ok: true; source: Source } | { ok: false; message: string };

const itemsSchema = z.array(z.unknown());
const listSchema = z.looseObject({ object: z.literal("list"), data: itemsSchema });
const recordSchema = z.looseObject({ envelope: z.unknown() });

/**
 * Finds what `name` means: an event id (asked from `findEvent`), an event type (a sample of it), or a file of envelopes,
 * JSON or JSON lines. A file is read through first, so that a broken one is refused before anything is sent.
 */
export async function openSource(options: {
  name: string;
  findEvent: (id: string) => Promise<Envelope>;
  newId: () => string;
}): Promise<OpenedSource> {
  const { name, findEvent, newId } = options;
  if (eventIdSchema.safeParse(name).success) return known(name, [await findEvent(name)]);
  if (isEventType(name)) return known(name, [sampleEnvelope(name, { id: newId() })]);
  if (!existsSync(name)) {
    return {
      ok: false,
      message: `${name} is no event id (evt_…), no file and no event type.${didYouMean(name, EVENT_TYPES)}`,
    };
  }
  return openFile(name);
}

function known(name: string, envelopes: Envelope[]): OpenedSource {
  return { ok: true, source: { name, count: envelopes.length, open: () => each(envelopes) } };
}

async function openFile(path: string): Promise<OpenedSource> {
  const whole = wholeDocument(path);
  if (whole !== undefined) {
    const envelopes: Envelope[] = [];
    for (const [index, value] of whole.entries()) {
      const envelope = readEnvelope(value);
      if (!envelope.ok) return { ok: false, message: `${path}, item ${index + 1}: ${envelope.message}` };
      envelopes.push(envelope.value);
    }
    return envelopes.length === 0 ? empty(path) : known(path, envelopes);
  }
  let count = 0;
  for await (const { number, text } of linesOf(path)) {
    const envelope = readLine(text);
    if (!envelope.ok) return { ok: false, message: `${path}:${number}: ${envelope.message}` };
    count += 1;
  }
  return count === 0 ? empty(path) : { ok: true, source: { name: path, count, open: () => fromLines(path) } };
}

function empty(path: string): OpenedSource {
  return { ok: false, message: `${path} holds no envelope.` };
}

/** The items of a file that is one JSON value; undefined when it is lines of JSON, or none at all. */
function wholeDocument(path: string): unknown[] | undefined {
  if (path.endsWith(".jsonl") || path.endsWith(".ndjson")) return undefined;
  const value = parseJson(readFileSync(path, "utf8"));
  if (value === undefined) return undefined;
  const items = itemsSchema.safeParse(value);
  if (items.success) return items.data;
  const list = listSchema.safeParse(value);
  return list.success ? list.data.data : [value];
}

async function* linesOf(path: string): AsyncGenerator<{ number: number; text: string }> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (text.trim() !== "") yield { number, text };
  }
}

async function* fromLines(path: string): AsyncGenerator<Envelope> {
  for await (const { text } of linesOf(path)) {
    const envelope = readLine(text);
    if (envelope.ok) yield envelope.value;
  }
}

async function* each(envelopes: readonly Envelope[]): AsyncGenerator<Envelope> {
  yield* envelopes;
}

type ReadEnvelope = { ok: true; value: Envelope } | { ok: false; message: string };

function readLine(text: string): ReadEnvelope {
  const value = parseJson(text);
  return value === undefined ? { ok: false, message: "this line is no JSON." } : readEnvelope(value);
}

/** An envelope itself, or a record that has one, as `events show --json` prints it. */
function readEnvelope(value: unknown): ReadEnvelope {
  const record = recordSchema.safeParse(value);
  const parsed = envelopeSchema.safeParse(record.success ? record.data.envelope : value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : ` (${issue.path.join(".")})`;
  return { ok: false, message: `this is no event envelope: ${issue?.message ?? ""}${where}.` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}
