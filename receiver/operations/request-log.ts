import type { Clock } from "../clock.ts";
import type { Receipt } from "../intake/inbox.ts";
import type { Log } from "./log.ts";
import { knownType } from "./privacy.ts";

/** What is known of a request that was answered. */
export type AnsweredRequest = {
  method: string;
  /** Without the query, which may hold secrets. */
  path: string;
  /** The request id that the app around the receiver gave it. */
  id?: string | undefined;
  status: number;
  durationMs?: number;
  /** Why it was refused before it was read as a delivery. */
  refused?: string | undefined;
  receipt?: Receipt | undefined;
};

export type RequestLog = (request: AnsweredRequest) => void;

const LONGEST_PATH = 200;

/** Lines a second for unsigned requests of one reason. The others share a line. */
const UNSIGNED_LINES_A_SECOND = 10;

/**
 * Answers a function that logs one flat line a request: what was asked, what was answered, why. Nothing of headers, body
 * or query is in it, and of an event only its id and whether its type is a known one. Signed requests are all logged.
 * Others, which anybody may send, share one line a second and reason beyond the first ten: it says how many they were.
 */
export function createRequestLog({ log, clock }: { log: Log; clock: Clock }): RequestLog {
  /** Requests of the running second, by reason. */
  const unsigned = new Map<string, { requests: number }>();

  return (request) => {
    const level = levelOf(request.status, request.path);
    if (log.isLevelEnabled(level) && (isSigned(request) || isAmongTheFirst(request, level)))
      write(request, level);
  };

  function isAmongTheFirst({ status, refused, receipt }: AnsweredRequest, level: Level): boolean {
    const reason = refused ?? (receipt?.kind === "invalid_signature" ? receipt.reason : String(status));
    const second = unsigned.get(reason) ?? { requests: 0 };
    second.requests += 1;
    if (second.requests === 1) {
      unsigned.set(reason, second);
      clock.after(1_000, () => {
        unsigned.delete(reason);
        const requests = second.requests - UNSIGNED_LINES_A_SECOND;
        if (requests > 0) log[level]({ status, reason, requests }, "answered more of these within a second");
      });
    }
    return second.requests <= UNSIGNED_LINES_A_SECOND;
  }

  function write(request: AnsweredRequest, level: Level): void {
    const { method, path, id, status, durationMs, refused, receipt } = request;
    log[level](
      {
        method,
        path: path.slice(0, LONGEST_PATH),
        status,
        request_id: id,
        duration_ms: durationMs && Math.round(durationMs * 10) / 10,
        ...(refused === undefined ? {} : { result: "refused", reason: refused }),
        ...(receipt && describe(receipt)),
      },
      "answered",
    );
  }
}

/** Whether its sender has the signing secret. */
function isSigned({ receipt }: AnsweredRequest): boolean {
  return receipt !== undefined && receipt.kind !== "invalid_signature";
}

type Level = "debug" | "info" | "warn" | "error";

function levelOf(status: number, path: string): Level {
  if (status >= 500) return "error";
  if (status >= 400) return "warn";
  return path === "/healthz" || path === "/readyz" ? "debug" : "info";
}

function describe(receipt: Receipt): Record<string, unknown> {
  switch (receipt.kind) {
    case "stored":
    case "duplicate": {
      // The first body counts. Two different ones under one id are the sender's mistake, or somebody else's attempt.
      const { storedSha256: stored_sha256, receivedSha256: received_sha256 } = receipt.differs ?? {};
      const known = { result: receipt.kind, event_id: receipt.id, type: knownType(receipt.type) };
      return { ...known, stored_sha256, received_sha256 };
    }
    case "invalid_signature":
      return { result: receipt.kind, reason: receipt.reason };
    case "invalid_json":
    case "invalid_event":
      return { result: receipt.kind, reason: receipt.message };
    default:
      return { result: receipt.kind, reason: receipt.reason, detail: receipt.detail };
  }
}
