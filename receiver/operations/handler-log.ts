import { describeError, type Log } from "./log.ts";
import { createScrubber, type Scrubber } from "./scrubber.ts";

/** How much of what a handler hands over is looked at. */
const DEEPEST = 8;
const MOST_ENTRIES = 200;

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** Writes a line: a message, or fields and a message. */
export type Write = (first: unknown, message?: string) => void;

/** What a handler writes to. An error goes in as `{ err }`. */
export type HandlerLog = Readonly<Record<(typeof LEVELS)[number], Write>>;

/**
 * The log for the handling of one event. Every line carries the event's id, type and attempt; whatever the handler adds
 * is scrubbed of what the event contains, in values and names, however deep. That costs nothing until it logs something.
 */
export function createHandlerLog(
  log: Log,
  event: { id: string; type: string; attempt: number; body: string },
): HandlerLog {
  let ready: { lines: Log; scrub: Scrubber } | undefined;
  const prepare = (): { lines: Log; scrub: Scrubber } => ({
    lines: log.child(
      { event_id: event.id, type: event.type, attempt: event.attempt },
      // Errors come to it described and scrubbed.
      { serializers: { err: (described: unknown) => described } },
    ),
    scrub: createScrubber(event.body),
  });

  const writeAt =
    (level: (typeof LEVELS)[number]): Write =>
    (first, message) => {
      if (!log.isLevelEnabled(level)) return;
      const { lines, scrub } = (ready ??= prepare());
      if (typeof first === "string") lines[level](scrub.text(first));
      else lines[level](fieldsOf(first, scrub), message === undefined ? undefined : scrub.text(message));
    };
  return {
    debug: writeAt("debug"),
    info: writeAt("info"),
    warn: writeAt("warn"),
    error: writeAt("error"),
  };
}

function fieldsOf(first: unknown, scrub: Scrubber): object {
  const fields = cleaned(first, scrub);
  if (first instanceof Error) return { err: fields };
  return typeof fields === "object" && fields !== null ? fields : { value: fields };
}

/** A copy with scrubbed texts and numbers, of what JSON can say. */
function cleaned(value: unknown, scrub: Scrubber, depth = 0): unknown {
  if (typeof value === "string") return scrub.text(value);
  // As a text, so that a number of the event is found like any other word.
  if (typeof value === "number" || typeof value === "bigint") {
    const text = scrub.text(String(value));
    return text === String(value) && typeof value === "number" ? value : text;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEEPEST) return "[too deep]";
  if (value instanceof Error) return cleaned(describeError(value), scrub, depth + 1);
  if (Array.isArray(value))
    return value.slice(0, MOST_ENTRIES).map((item: unknown) => cleaned(item, scrub, depth + 1));
  const entries = Object.entries(value).slice(0, MOST_ENTRIES);
  return Object.fromEntries(
    entries.map(([name, inner]) => [scrub.name(name), cleaned(inner, scrub, depth + 1)]),
  );
}
