import type { Claim } from "../engine.ts";
import { describeError, type Log } from "./log.ts";
import { REDACTED_TEXT, shownType } from "./privacy.ts";
import { createScrubber, type Scrubber } from "./scrubber.ts";

/** Levels, and entries of each object or list, that are logged of what a handler passes. */
const DEEPEST = 8;
const MOST_ENTRIES = 200;

/** Names of fields that only code gives: they are logged as they are, even where a person in the event is called so. */
const NAME_IN_CODE = /^[a-z][a-zA-Z_-]*$/;

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** Writes a line: a message, or fields and a message. */
export type Write = (first: unknown, message?: string) => void;

/** What a handler writes to. An error goes in as `{ err }`. */
export type HandlerLog = Readonly<Record<(typeof LEVELS)[number], Write>>;

/**
 * The log of one attempt. Every line carries the event's id and type, the handler and the attempt; the handler's own
 * fields come out as they are, without what is personal in their values. That costs nothing until it logs something.
 */
export function createHandlerLog(
  log: Log,
  claim: Pick<Claim, "id" | "type" | "handler" | "attempt" | "body"> & Partial<Pick<Claim, "trace">>,
): HandlerLog {
  const { id, type, handler, attempt, trace } = claim;
  const request = trace?.requestId === undefined ? {} : { request_id: trace.requestId };
  let ready: { lines: Log; scrubber: Scrubber } | undefined;
  const prepare = (): { lines: Log; scrubber: Scrubber } => ({
    lines: log.child(
      { event_id: id, type: shownType(type), handler, attempt, ...request },
      // Errors come to it described and scrubbed.
      { serializers: { err: (described: unknown) => described } },
    ),
    scrubber: createScrubber(claim.body),
  });

  const writeAt =
    (level: (typeof LEVELS)[number]): Write =>
    (first, message) => {
      if (!log.isLevelEnabled(level)) return;
      const { lines, scrubber } = (ready ??= prepare());
      if (typeof first === "string") lines[level](scrubber.text(first));
      else
        lines[level](fieldsOf(first, scrubber), message === undefined ? undefined : scrubber.text(message));
    };
  return {
    debug: writeAt("debug"),
    info: writeAt("info"),
    warn: writeAt("warn"),
    error: writeAt("error"),
  };
}

function fieldsOf(first: unknown, scrubber: Scrubber): object {
  const fields = cleaned(first, scrubber);
  if (first instanceof Error) return { err: fields };
  return typeof fields === "object" && fields !== null ? fields : { value: fields };
}

/** A copy with scrubbed texts and numbers, of what JSON can say. */
function cleaned(value: unknown, scrubber: Scrubber, depth = 0): unknown {
  if (typeof value === "string") return scrubber.text(value);
  // As a text, so that a phone number is found like any other.
  if (typeof value === "number" || typeof value === "bigint") {
    const text = scrubber.text(String(value));
    return text === String(value) && typeof value === "number" ? value : text;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEEPEST) return "[too deep]";
  if (value instanceof Error) return cleaned(describeError(value), scrubber, depth + 1);
  // Dates, URLs, and whatever else knows how it is written.
  if ("toJSON" in value && typeof value.toJSON === "function")
    return cleaned(Reflect.apply(value.toJSON, value, []), scrubber, depth + 1);
  if (Array.isArray(value))
    return value.slice(0, MOST_ENTRIES).map((item: unknown) => cleaned(item, scrubber, depth + 1));
  const entries = Object.entries(value).slice(0, MOST_ENTRIES);
  return Object.fromEntries(
    entries.map(([name, inner]) => [
      NAME_IN_CODE.test(name) ? name : scrubber.text(name),
      // Whether there was one is no secret.
      scrubber.hides(name) && inner !== null && typeof inner !== "boolean"
        ? REDACTED_TEXT
        : cleaned(inner, scrubber, depth + 1),
    ]),
  );
}
