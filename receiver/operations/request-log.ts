import type { Clock } from "../clock.ts";
import type { Receipt } from "../intake/inbox.ts";
import type { Log } from "./log.ts";
import { knownType } from "./privacy.ts";

/** A request that was answered. `path` is without its query, `id` is what the app gave it, `refused` why it was not read. */
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

/** Lines a second for refused requests of one reason. The metrics count all of them. */
const REFUSALS_A_SECOND = 10;

/** Logs a flat line a request, with nothing of its headers, body or query, and only the id and a known type of its event. */
export function createRequestLog(options: {
  log: Log;
  clock: Clock;
  /** Masks what a stranger may have put into a path. */
  clean: (text: string) => string;
}): RequestLog {
  const { log, clock, clean } = options;
  let second = 0;
  const refusals = new Map<string, number>();

  return ({ method, path, id, status, durationMs = 0, refused, receipt }) => {
    const isProbe = status < 400 && (path === "/healthz" || path === "/readyz");
    const level = status >= 500 ? "error" : status >= 400 ? "warn" : isProbe ? "debug" : "info";
    const result = receipt ? describe(receipt) : { result: refused && "refused", reason: refused };
    if (!log.isLevelEnabled(level) || (status >= 400 && isTooMuch(result.reason ?? String(status)))) return;
    const duration_ms = Math.round(durationMs * 10) / 10;
    const shown = status < 400 ? path : clean(path.slice(0, 200));
    const asked = { method: method.slice(0, 20), path: shown, status, request_id: id };
    log[level]({ ...asked, duration_ms, ...result }, "answered");
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
  const { kind: result } = receipt;
  if (!("secretIndex" in receipt))
    return { result, ...("reason" in receipt ? receipt : { reason: receipt.message }), kind: undefined };
  const { storedSha256: stored_sha256, receivedSha256: received_sha256 } = receipt.differs ?? {};
  return { result, event_id: receipt.id, type: knownType(receipt.type), stored_sha256, received_sha256 };
}
