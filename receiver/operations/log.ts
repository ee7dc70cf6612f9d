import pino from "pino";
import { printableJson } from "../../shared/printable.ts";
import { systemClock } from "../clock.ts";
import { createCleaner, REDACTED } from "./privacy.ts";

export type Log = pino.Logger;

/** Lines are written together, when they have this length or after this time; beyond a megabyte that waits they are dropped. */
const PAGE_BYTES = 16_000;
const FLUSH_MS = 20;
const MAXIMUM_WAITING_BYTES = 1_048_576;

/** Ends of the names of fields whose values are personal or secret; values of the second kind are persons. */
const PERSONAL_FIELD =
  /(?:^|_)(?:phones?|phone_numbers?|mobile|fax|e_?mails?|address|street|(?:customer|caller|contact|guest|first|last|full|given|family)_name|surname|date_of_birth|transcript|message_text|notes?|recording_url|transfer_to|password|secrets?|token|authorization|cookie|api_?key|signature|customer|caller|contact|guest|patient)$/;
const DEEPEST = 8;

/**
 * The receiver's log: one JSON object a line. Its own lines hold ids, reasons and durations. Handlers write to children of
 * it: values of fields with a personal or secret name are redacted, at any depth; other text is their author's.
 */
export function createLog(options: {
  level: string;
  name?: string;
  /** Masked in the messages of errors. */
  secrets?: readonly string[];
  destination?: pino.DestinationStream;
}): Log {
  const clean = createCleaner(options.secrets ?? []);
  return pino(
    {
      level: options.level,
      base: options.name === undefined ? null : { part: options.name },
      timestamp: () => `,"time":"${new Date(systemClock.nowMs()).toISOString()}"`,
      formatters: { level: (level) => ({ level }), log: (fields) => withoutPersons(fields, 0) },
      serializers: { err: (error: unknown) => describeError(error, clean) },
      // Logs are read on terminals and by build servers.
      hooks: {
        streamWrite: printableJson,
        // Without a message pino would take the error's own, unmasked.
        logMethod(given, method) {
          method.apply(this, given.length === 1 && typeof given[0] === "object" ? [given[0], ""] : given);
        },
      },
    },
    options.destination ?? standardOutput(),
  );
}

function withoutPersons(fields: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shown(name, value, depth)]));
}

function shown(name: string, value: unknown, depth: number): unknown {
  if (value === null || typeof value === "boolean" || value === undefined) return value;
  if (isPersonal(name)) return REDACTED;
  if (typeof value !== "object" || value instanceof Error || "toJSON" in value) return value;
  if (depth >= DEEPEST) return "[too deep]";
  if (Array.isArray(value)) return value.map((item) => shown("", item, depth + 1));
  return withoutPersons(value, depth + 1);
}

const judged = new Map<string, boolean>();

function isPersonal(name: string): boolean {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const inSnakeCase = name
    .slice(0, 100)
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[\s.-]/g, "_")
    .toLowerCase();
  const verdict = PERSONAL_FIELD.test(inSnakeCase);
  if (judged.size < 1_000) judged.set(name, verdict);
  return verdict;
}

/** An error without what libraries hang on it, such as whole requests. */
function describeError(error: unknown, clean: (text: string) => string): object {
  if (!(error instanceof Error)) return { type: typeof error, message: clean(String(error)) };
  const places = error.stack?.match(/^ {4}at .{1,300}$/gm)?.slice(0, 20) ?? [];
  return { type: error.name, message: clean(error.message), stack: places.join("\n") };
}

/** Asynchronous, so that a reader of our output that stops reading cannot stop the acknowledgements. */
function standardOutput(): pino.DestinationStream & Pick<Page, "flush"> {
  const output: Page & NodeJS.EventEmitter = pino.destination({
    sync: false,
    minLength: PAGE_BYTES,
    maxLength: MAXIMUM_WAITING_BYTES,
    contentMode: "buffer",
  });
  // On a full disk lines wait for the next flush; at an exit, a synchronous one would try for ever.
  output.on("error", () => Object.assign(output, { flushSync: () => undefined }));
  let isDue = false;
  let hasMore = false;
  const flushSoon = (): void => {
    isDue = true;
    systemClock.after(FLUSH_MS, () => {
      hasMore = false;
      // The next flush waits for this one: behind a reader that has stopped they would pile up.
      output.flush(() => {
        isDue = false;
        if (hasMore) flushSoon();
      });
    });
  };
  return {
    write: (line) => {
      // With a text, each line would have the page before it copied again.
      output.write(Buffer.from(line));
      hasMore = true;
      if (!isDue) flushSoon();
    },
    flush: (done) => output.flush(done),
  };
}

type Page = { write(line: string | Buffer): boolean; flush(done: (error?: Error) => void): void };
