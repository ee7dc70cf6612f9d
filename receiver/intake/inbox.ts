import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { eventIdSchema } from "../../shared/events.ts";
import { signingKey, verify, type SignatureProblem } from "../../shared/signature.ts";
import type { Clock } from "../clock.ts";
import type { Acceptance, Intake, NewEvent, Refusal, Unavailable } from "../store/port.ts";

/** A delivery before verification. */
export type Delivery = {
  /** Every value of the signature header separately, not joined. */
  signatures: readonly string[];
  body: Uint8Array;
};

/** The result of a delivery. `stored` and `duplicate` mean that the event is committed and synced to disk. */
export type Receipt =
  | ({ kind: "stored" | "duplicate"; id: string; type: string; secretIndex: number } & Pick<
      Acceptance,
      "differs"
    >)
  | { kind: "invalid_signature"; reason: SignatureProblem }
  | { kind: "invalid_json" | "invalid_event"; message: string }
  | { kind: "unavailable"; reason: Unavailable; detail: string };

export type Inbox = (delivery: Delivery) => Promise<Receipt>;

/**
 * Takes a delivery into the inbox: verify, parse, store, in this order, so that an unsigned body is never parsed. Independent
 * of HTTP. Call it as soon as the body is complete: the 8 s for storing it start then.
 */
export function createInbox(options: {
  secrets: readonly string[];
  clock: Clock;
  store: GroupCommit;
}): Inbox {
  const secrets = options.secrets.map(signingKey);

  return async ({ signatures, body }) => {
    const nowSeconds = Math.floor(options.clock.nowMs() / 1_000);
    const signature = verify({ headers: signatures, body, secrets, nowSeconds });
    if (!signature.ok) return { kind: "invalid_signature", reason: signature.reason };

    const parsed = parseEnvelope(body);
    if (!parsed.ok) return { kind: parsed.error, message: parsed.message };

    const { id, type, objectId, envelope } = parsed;
    const stored = await options.store({ id, type, objectId, source: "webhook", body, envelope });
    if (!stored.ok) return { kind: "unavailable", reason: stored.reason, detail: stored.detail };

    const { duplicate, ...differs } = stored.acceptance;
    const { secretIndex } = signature;
    return { kind: duplicate ? "duplicate" : "stored", id, type, secretIndex, ...differs };
  };
}

/** Limits on nesting and values of an envelope. The service's own have five levels and about forty values. */
const MAXIMUM_LEVELS = 64;
const MAXIMUM_VALUES = 10_000;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** An object id is a short string; other values count as none. */
const objectIdSchema = z.string().min(1).max(256);

/** The fields that make an envelope an event. All others may change, so they are neither checked nor copied. */
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

/** Parses the body of a delivery whose signature was verified. Never throws. */
export function parseEnvelope(body: Uint8Array): ParsedEnvelope {
  if (!isUtf8(body)) return refuse("invalid_json", "The body is not UTF-8.");
  const excess = excessOf(body);
  if (excess !== undefined) return refuse("invalid_event", `The body has more than ${excess}.`);
  let envelope: unknown;
  try {
    // Keeps a byte order mark in the text, so that JSON.parse refuses it.
    envelope = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"));
  } catch {
    return refuse("invalid_json", "The body is not JSON.");
  }
  const event = eventSchema.safeParse(envelope);
  if (!event.success) {
    const [{ path, message } = { path: [], message: "invalid" }] = event.error.issues;
    return refuse("invalid_event", `The body is not an event: ${path.join(".") || "it"}: ${message}.`);
  }
  const { id, type, data } = event.data;
  return { ok: true, id, type, objectId: data?.object.id ?? null, envelope };
}

function refuse(error: "invalid_json" | "invalid_event", message: string): ParsedEnvelope {
  return { ok: false, error, message };
}

/** The limit that the JSON exceeds, counted before parsing: a megabyte of brackets or keys would block the process. */
function excessOf(json: Uint8Array): string | undefined {
  let [depth, values] = [0, 1];
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfText(json, at);
    else if (byte === COMMA) values += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    else if (OPENING.has(byte)) {
      depth += 1;
      values += 1;
      if (depth > MAXIMUM_LEVELS) return `${MAXIMUM_LEVELS} levels`;
    }
  }
  return values > MAXIMUM_VALUES ? `${MAXIMUM_VALUES} values` : undefined;
}

/** The position of the quote that closes the string starting at `from`. */
function endOfText(json: Uint8Array, from: number): number {
  for (let at = json.indexOf(QUOTE, from + 1); at !== -1; at = json.indexOf(QUOTE, at + 1)) {
    let backslashes = 0;
    while (json[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}

/** The most events that wait for a commit or are in one, and the most in one commit. */
const MAXIMUM_HELD_EVENTS = 10_000;
const MAXIMUM_HELD_BYTES = 64 * 1_048_576;
const MAXIMUM_BATCH_EVENTS = 1_024;
const MAXIMUM_BATCH_BYTES = 8 * 1_048_576;

/** The service waits 10 s for its answer, so a 503 must be sent before that. */
const LIMIT_MS = 8_000;

export type Stored = { ok: true; acceptance: Acceptance } | Refusal;

/** Stores one event. Always resolves within 8 s. */
export type GroupCommit = (event: NewEvent) => Promise<Stored>;

type Held = { event: NewEvent; answer: (stored: Stored) => void };

const OVERLOADED: Refusal = { ok: false, reason: "overloaded", detail: "Too many events are waiting." };
const TIMEOUT: Refusal = { ok: false, reason: "timeout", detail: "The database took too long to commit." };

/**
 * Events that arrive during a commit wait and share the next one: a slow disk costs one sync per batch, not one per event.
 * Events beyond the limits are refused at once as `overloaded`. After 8 s an event is answered `timeout`; it may still be
 * stored later, and the sender's retry is then a duplicate.
 */
export function createGroupCommit({
  accept,
  clock,
}: {
  accept: Intake["accept"];
  clock: Clock;
}): GroupCommit {
  const waiting: Held[] = [];
  let heldEvents = 0;
  let heldBytes = 0;
  let isRunning = false;

  return async (event) => {
    if (heldEvents >= MAXIMUM_HELD_EVENTS || heldBytes + event.body.byteLength > MAXIMUM_HELD_BYTES)
      return OVERLOADED;
    heldEvents += 1;
    heldBytes += event.body.byteLength;
    return new Promise((answer) => {
      const cancel = clock.after(LIMIT_MS, () => answer(TIMEOUT));
      waiting.push({
        event,
        answer: (stored) => {
          cancel();
          answer(stored);
        },
      });
      if (!isRunning) void commitAll();
    });
  };

  async function commitAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize());
      const result = await accept(batch.map(({ event }) => event)).catch(failed);
      for (const [index, { event, answer }] of batch.entries()) {
        heldEvents -= 1;
        heldBytes -= event.body.byteLength;
        const acceptance = result.ok ? result.acceptances[index] : undefined;
        if (!result.ok) answer(result);
        else if (acceptance) answer({ ok: true, acceptance });
      }
    }
    isRunning = false;
  }

  /** How many events the next commit takes: at least one, and no more than can be written in one turn of the event loop. */
  function batchSize(): number {
    let bytes = 0;
    const beyond = waiting.findIndex(({ event }, index) => {
      bytes += event.body.byteLength;
      return index === MAXIMUM_BATCH_EVENTS || bytes > MAXIMUM_BATCH_BYTES;
    });
    return beyond === -1 ? waiting.length : Math.max(1, beyond);
  }
}

/** A bug in the store must not leave requests without an answer. */
function failed(error: unknown): Refusal {
  return { ok: false, reason: "io_error", detail: `a bug in the store: ${String(error)}` };
}
