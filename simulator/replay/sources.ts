import { createReadStream, existsSync, statSync } from "node:fs";
import { z } from "zod";
import {
  envelopeSchema,
  eventIdSchema,
  EVENT_TYPES,
  isEventType,
  type Envelope,
} from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { decodeText } from "../../shared/text.ts";
import { readBoundedFile, reasonOf } from "../files/bounded-file.ts";
import { jsonOf, parseExactly } from "../domain/exact-json.ts";
import { didYouMean, plainMessage, type Refused, refused } from "../domain/refused.ts";
import { codeOf, messageOf } from "../text/errors.ts";
import { jsonShapeProblem } from "../text/json-shape.ts";

/** Envelopes to send again; each `open` begins at the first. */
export type Source = { name: string; count: number; open: () => AsyncIterable<Envelope> };

export type OpenedSource = { ok: true; source: Source } | Refused;

const LONGEST_LINE_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 10;

const itemsSchema = z.array(z.unknown());
const recordSchema = z.looseObject({ envelope: z.unknown() });

/** Opens an event id, an event type (a sample) or a file of envelopes, which is read through before anything is sent. */
export async function openSource(options: {
  name: string;
  findEvent: (id: string) => Promise<Envelope>;
  newId: () => string;
}): Promise<OpenedSource> {
  const { name, findEvent, newId } = options;
  if (eventIdSchema.safeParse(name).success) return known(name, [await findEvent(name)]);
  if (isEventType(name)) return known(name, [sampleEnvelope(name, { id: newId() })]);
  if (!existsSync(name))
    return refused(
      `${name} is not an event id (evt_…), a file or an event type.${didYouMean(name, EVENT_TYPES)}`,
    );
  if (!statSync(name).isFile()) return refused(`${name} is a folder or a device, not a file.`);
  return openFile(name).catch((error: unknown) => {
    if (codeOf(error) === "") throw error;
    return refused(`${name} cannot be read: ${reasonOf(error)}.`);
  });
}

function known(name: string, envelopes: Envelope[]): OpenedSource {
  return { ok: true, source: { name, count: envelopes.length, open: () => each(envelopes) } };
}

async function openFile(path: string): Promise<OpenedSource> {
  const whole = wholeDocument(path);
  if (typeof whole === "string") return refused(`${path} cannot be read: ${whole}.`);
  if (whole !== undefined) {
    const envelopes: Envelope[] = [];
    for (const [index, value] of whole.entries()) {
      const envelope = readEnvelope(value);
      if (!envelope.ok) return refused(`${path}, item ${index + 1}: ${envelope.message}`);
      envelopes.push(envelope.value);
    }
    return envelopes.length === 0 ? empty(path) : known(path, envelopes);
  }
  let count = 0;
  for await (const { number, line } of linesOf(path)) {
    const envelope = readLine(line);
    if (!envelope.ok) return refused(`${path}:${number}: ${envelope.message}`);
    count += 1;
  }
  if (count === 0) return empty(path);
  return { ok: true, source: { name: path, count, open: () => fromLines(path) } };
}

function empty(path: string): OpenedSource {
  return refused(`${path} contains no envelope.`);
}

/** The items of a file with one JSON value, or an error; undefined if its first line is JSON by itself, or it is blank. */
function wholeDocument(path: string): unknown[] | string | undefined {
  if (path.endsWith(".jsonl") || path.endsWith(".ndjson")) return undefined;
  const content = readBoundedFile(path);
  if (!content.ok)
    return `${content.reason}${content.isTooLarge ? "; as JSON lines (.jsonl) it may be of any size" : ""}`;
  const problem = jsonShapeProblem(content.bytes, Number.POSITIVE_INFINITY);
  if (problem !== undefined) return problem;
  const decoded = decodeText(content.bytes, "it");
  if (!decoded.ok) return decoded.message.replace(/^it (.*)\.$/, "it $1");
  let value: unknown;
  try {
    value = parseExactly(decoded.text);
  } catch (error) {
    const [first = ""] = decoded.text.trimStart().split("\n", 1);
    const hasLines = first === "" || jsonOf(first) !== undefined;
    return hasLines ? undefined : `it is not JSON (${messageOf(error)})`;
  }
  const items = itemsSchema.safeParse(value);
  return items.success ? items.data : [value];
}

/** The lines that are not empty, counted from 1. A line that is too long is cut and is the last one. */
async function* linesOf(path: string): AsyncGenerator<{ number: number; line: Buffer }> {
  let number = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of createReadStream(path)) {
    if (!Buffer.isBuffer(piece)) continue;
    const bytes = rest.byteLength === 0 ? piece : Buffer.concat([rest, piece]);
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      number += 1;
      const line = bytes.subarray(start, end);
      start = end + 1;
      if (!isBlank(line)) yield { number, line };
    }
    rest = bytes.subarray(start);
    if (rest.byteLength > LONGEST_LINE_BYTES) break;
  }
  if (!isBlank(rest)) yield { number: number + 1, line: rest };
}

function isBlank(line: Buffer): boolean {
  return line.toString("latin1").trim() === "";
}

async function* fromLines(path: string): AsyncGenerator<Envelope> {
  for await (const { line } of linesOf(path)) {
    const envelope = readLine(line);
    if (envelope.ok) yield envelope.value;
  }
}

async function* each(envelopes: readonly Envelope[]): AsyncGenerator<Envelope> {
  yield* envelopes;
}

type ReadEnvelope = { ok: true; value: Envelope } | Refused;

function readLine(line: Buffer): ReadEnvelope {
  if (line.byteLength > LONGEST_LINE_BYTES) return refused("this line is longer than 4 MiB, the maximum.");
  const problem = jsonShapeProblem(line);
  if (problem !== undefined) return refused(`this is not an event envelope: ${problem}.`);
  const decoded = decodeText(line, "this line");
  if (!decoded.ok) return decoded;
  const value = jsonOf(decoded.text);
  return value === undefined ? refused("this line is not JSON.") : readEnvelope(value);
}

/** An envelope, or a record with one, as `events show --json` prints it. */
function readEnvelope(value: unknown): ReadEnvelope {
  const record = recordSchema.safeParse(value);
  const parsed = envelopeSchema.safeParse(record.success ? record.data.envelope : value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : ` (${issue.path.join(".")})`;
  return refused(`this is not an event envelope: ${issue && plainMessage(issue)}${where}.`);
}
