import pino from "pino";
import { printableJson } from "../../shared/text.ts";
import { systemClock, type Clock } from "../clock.ts";
import type { Receipt } from "../intake/inbox.ts";
import { createCleaner, knownType, REDACTED } from "./present.ts";

export type Log = pino.Logger;

/** Endings of field names, in any spelling, whose values are personal or secret. */
const PERSONAL =
  "(?:phones?|phone[-_ ]?numbers?|mobile|fax|e-?mails?|address|street|(?:customer|caller|contact|guest|first|last|full|given|family)[-_ ]?name|surname|date[-_ ]?of[-_ ]?birth|transcript|message[-_ ]?text|notes?|recording[-_ ]?url|transfer[-_ ]?to|password|secrets?|token|authorization|cookie|api[-_ ]?key|signature|customer|caller|contact|guest|patient)";
const PERSONAL_FIELD = new RegExp(`${PERSONAL}$`, "i");
/** Most lines have no such field, and need not be parsed. */
const PERSONAL_LINE = new RegExp(`${PERSONAL}":`, "i");

/**
 * The receiver's log: one JSON object per line. Its own lines contain ids, reasons and durations. Handlers write to child
 * loggers: values of fields with a personal or secret name are redacted at any depth. Other text is up to their author.
 */
export function createLog(options: {
  level: string;
  name?: string;
  /** Masked in error messages. */
  secrets?: readonly string[];
  destination?: pino.DestinationStream;
}): Log {
  const clean = createCleaner(options.secrets ?? []);
  return pino(
    {
      level: options.level,
      base: options.name === undefined ? null : { part: options.name },
      timestamp: () => `,"time":"${new Date(systemClock.nowMs()).toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: (error: unknown) => describeError(error, clean) },
      hooks: {
        // Logs are read on terminals and by build servers.
        streamWrite: (line) => printableJson(redacted(line)),
        // Without a message pino would use the error's own, unmasked.
        logMethod(given, method) {
          method.apply(this, given.length === 1 && typeof given[0] === "object" ? [given[0], ""] : given);
        },
      },
    },
    options.destination ?? standardOutput(),
  );
}

/** Redacts a written line. The fields' names decide; null, `true` and `false` always may be shown. */
function redacted(line: string): string {
  if (!PERSONAL_LINE.test(line)) return line;
  const fields: unknown = JSON.parse(line, (name, value: unknown) =>
    value !== null && typeof value !== "boolean" && PERSONAL_FIELD.test(name) ? REDACTED : value,
  );
  return `${JSON.stringify(fields)}\n`;
}

/** An error without the properties that libraries add, such as whole requests. */
function describeError(error: unknown, clean: (text: string) => string): object {
  if (!(error instanceof Error)) return { type: typeof error, message: clean(String(error)) };
  const places = error.stack?.match(/^ {4}at .{1,300}$/gm)?.slice(0, 20) ?? [];
  return { type: error.name, message: clean(error.message), stack: places.join("\n") };
}

/** Lines are written together once they reach this length or age; when more than a megabyte is waiting, they are dropped. */
const PAGE_LENGTH = 16_000;
const PAGE_MS = 20;
const MAXIMUM_WAITING_BYTES = 1_048_576;

/** Asynchronous, so that a blocked reader of our output cannot stop acknowledgements. */
function standardOutput(): pino.DestinationStream & { flush: (done: () => void) => void } {
  const output = pino.destination({ sync: false, minLength: PAGE_LENGTH, maxLength: MAXIMUM_WAITING_BYTES });
  // On a full disk, lines wait for the next page; a synchronous flush at exit would retry forever.
  output.on("error", () => Object.assign(output, { flushSync: () => undefined }));
  let isDue = false;
  const pass = (): void => {
    isDue = false;
    output.flush();
  };
  return {
    write: (line) => {
      output.write(line);
      if (!isDue) systemClock.after(PAGE_MS, pass);
      isDue = true;
    },
    flush: (done) => output.flush(done),
  };
}

/** An answered request. `path` is without the query, `id` is set by the app, `refused` says why the request was not read. */
export type AnsweredRequest = {
  method: string;
  path: string;
  id?: string | undefined;
  status: number;
  durationMs?: number;
  refused?: string | undefined;
  receipt?: Receipt | undefined;
};

export type RequestLog = (request: AnsweredRequest) => void;

/** Log lines per second for refused requests with the same reason. The metrics count all of them. */
const REFUSALS_A_SECOND = 10;

/** Logs one flat line per request, without its headers, body or query; of its event only the id and a known type. */
export function createRequestLog(options: {
  log: Log;
  clock: Clock;
  /** Masks what unknown senders may put into a path. */
  clean: (text: string) => string;
}): RequestLog {
  const { log, clock, clean } = options;
  let second = 0;
  const refusals = new Map<string, number>();

  return ({ method, path, id, status, durationMs = 0, refused, receipt }) => {
    const result = receipt ? describe(receipt) : { result: refused && "refused", reason: refused };
    if (status >= 400 && isTooMuch(result.reason ?? String(status))) return;
    const level = status >= 500 ? "error" : status >= 400 ? "warn" : "info";
    const shown = status < 400 ? path : clean(path.slice(0, 200));
    const asked = { method: method.slice(0, 20), path: shown, status, request_id: id };
    log[level]({ ...asked, duration_ms: Math.round(durationMs * 10) / 10, ...result }, "answered");
  };

  function isTooMuch(reason: string): boolean {
    const now = Math.floor(clock.monotonicMs() / 1_000);
    if (now !== second) refusals.clear();
    second = now;
    const lines = (refusals.get(reason) ?? 0) + 1;
    refusals.set(reason, lines);
    return lines > REFUSALS_A_SECOND;
  }
}

function describe(receipt: Receipt): { reason?: string } & Record<string, unknown> {
  const { kind: result, ...more } = receipt;
  if ("message" in more) return { result, reason: more.message };
  if ("reason" in more) return { result, ...more };
  const { storedSha256: stored_sha256, receivedSha256: received_sha256 } = more.differs ?? {};
  return { result, event_id: more.id, type: knownType(more.type), stored_sha256, received_sha256 };
}
