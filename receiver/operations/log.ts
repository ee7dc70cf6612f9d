import pino from "pino";
import { printableJson } from "../../shared/text.ts";
import { systemClock, type Clock } from "../clock.ts";
import type { Receipt } from "../intake/inbox.ts";
import { createCleaner, knownType, REDACTED } from "./present.ts";

export type Log = pino.Logger;

/** Endings of field names whose values are personal or secret; values of the second pattern are personal. */
const PERSONAL_FIELD =
  /(?:^|_)(?:phones?|phone_numbers?|mobile|fax|e_?mails?|address|street|(?:customer|caller|contact|guest|first|last|full|given|family)_name|surname|date_of_birth|transcript|message_text|notes?|recording_url|transfer_to|password|secrets?|token|authorization|cookie|api_?key|signature|customer|caller|contact|guest|patient)$/;
const DEEPEST = 8;

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
      formatters: { level: (level) => ({ level }), log: (fields) => redacted(fields, 0) },
      serializers: { err: (error: unknown) => describeError(error, clean) },
      // Logs are read on terminals and by build servers.
      hooks: {
        streamWrite: printableJson,
        // Without a message pino would use the error's own, unmasked.
        logMethod(given, method) {
          method.apply(this, given.length === 1 && typeof given[0] === "object" ? [given[0], ""] : given);
        },
      },
    },
    options.destination ?? standardOutput(),
  );
}

function redacted(fields: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      isPersonal(name, value) ? REDACTED : shown(value, depth),
    ]),
  );
}

function shown(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || value instanceof Error || "toJSON" in value)
    return value;
  if (depth >= DEEPEST) return "[too deep]";
  return Array.isArray(value) ? value.map((item) => shown(item, depth + 1)) : redacted(value, depth + 1);
}

const judged = new Map<string, boolean>();

/** The name decides whether a value may be shown; null, `true` and `false` always may. */
function isPersonal(name: string, value: unknown): boolean {
  if (value === null || value === undefined || typeof value === "boolean") return false;
  const known = judged.get(name);
  if (known !== undefined) return known;
  const inSnakeCase = name.slice(0, 100).replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[\s.-]/g, "_");
  const verdict = PERSONAL_FIELD.test(inSnakeCase.toLowerCase());
  if (judged.size < 1_000) judged.set(name, verdict);
  return verdict;
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
  const output = pino.destination({ sync: false, minLength: 1, maxLength: MAXIMUM_WAITING_BYTES });
  // On a full disk, lines wait for the next page; a synchronous flush at exit would retry forever.
  output.on("error", () => Object.assign(output, { flushSync: () => undefined }));
  let page = "";
  const pass = (): void => {
    if (page !== "") output.write(page);
    page = "";
  };
  return {
    write: (line) => {
      if (page === "") systemClock.after(PAGE_MS, pass);
      page += line;
      if (page.length >= PAGE_LENGTH) pass();
    },
    flush: (done) => {
      pass();
      output.flush(done);
    },
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
    const level = status >= 500 ? "error" : status >= 400 ? "warn" : "info";
    const result = receipt ? describe(receipt) : { result: refused && "refused", reason: refused };
    if (!log.isLevelEnabled(level) || (status >= 400 && isTooMuch(result.reason ?? String(status)))) return;
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
  if (!("secretIndex" in more)) return { result, ...("message" in more ? { reason: more.message } : more) };
  const { storedSha256: stored_sha256, receivedSha256: received_sha256 } = more.differs ?? {};
  return { result, event_id: more.id, type: knownType(more.type), stored_sha256, received_sha256 };
}
