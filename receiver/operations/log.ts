import pino from "pino";
import { systemClock } from "../clock.ts";
import { printableJson } from "../../shared/printable.ts";
import { createRedactor } from "./secrets.ts";

export type Log = pino.Logger;

/** Lines are collected, and written when they have this length together or after this time. */
const PAGE_BYTES = 16_000;
const FLUSH_MS = 20;

/** Bytes that wait for a reader of standard output; beyond them, lines are dropped. */
const MAXIMUM_WAITING_BYTES = 1_048_576;

/**
 * The receiver's log: one JSON object a line on standard output. Whoever writes to it gives fields of our own: ids,
 * reasons, durations. What handlers log goes through `createHandlerLog`.
 */
export function createLog(options: {
  level: string;
  name?: string;
  /** Left out wherever they stand. */
  secrets?: readonly string[];
  destination?: pino.DestinationStream;
}): Log {
  const redact = createRedactor(options.secrets ?? []);
  return pino(
    {
      level: options.level,
      base: options.name === undefined ? null : { part: options.name },
      timestamp: () => `,"time":"${new Date(systemClock.nowMs()).toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: describeError },
      // Paths, types and errors come from others, and logs are read on terminals and by build servers.
      hooks: { streamWrite: (line) => printableJson(redact(line)) },
    },
    options.destination ?? standardOutput(),
  );
}

/**
 * Asynchronous: a reader of our output that stops reading must not stop the acknowledgements. What it doesn't read is
 * dropped beyond a megabyte instead of piling up. What is left at the end of the process is written then; whoever calls
 * `process.exit` waits for `flush` first, or the page that is being written would come too late, or be lost.
 */
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
  // Started by the first line of a page: a timer that never stops would flush fifty times a second for nothing. The next
  // one waits until this page is written: where the reader has stopped, flushes would pile up.
  const flushSoon = (): void => {
    isDue = true;
    systemClock.after(FLUSH_MS, () => {
      hasMore = false;
      output.flush(() => {
        isDue = false;
        if (hasMore) flushSoon();
      });
    });
  };
  return {
    write: (line) => {
      // With a text, each line would have the whole page before it measured and copied again.
      output.write(Buffer.from(line));
      hasMore = true;
      if (!isDue) flushSoon();
    },
    flush: (done) => output.flush(done),
  };
}

type Page = { write(line: string | Buffer): boolean; flush(done: (error?: Error) => void): void };

/** The name of an error and its place in the code, without its message, which may hold personal data. */
export function describePlace(error: unknown): { error: string; at: string[] } {
  if (!(error instanceof Error)) return { error: typeof error, at: [] };
  const frames = error.stack?.matchAll(/^ {4}at .*:\d+:\d+\)?$/gm) ?? [];
  return { error: error.name, at: [...frames].map(([frame]) => frame.trim()) };
}

/** An error without the properties that libraries hang on it, which may hold whole requests. */
export function describeError(error: unknown): { type: string; message: string; stack?: string | undefined } {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  return { type: error.name, message: error.message, stack: error.stack };
}
