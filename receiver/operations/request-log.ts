import type { Receipt } from "../intake/inbox.ts";
import type { Log } from "./log.ts";
import { knownType } from "./privacy.ts";

/** What there is to say about a request once it was answered. */
export type AnsweredRequest = {
  method: string;
  /** Without its query, which is nobody's business. */
  path: string;
  status: number;
  durationMs: number;
  /** Why no delivery came of it. */
  refused?: string | undefined;
  receipt?: Receipt | undefined;
};

const LONGEST_PATH = 200;

/**
 * Answers a function that logs one flat line a request: what was asked, what was answered, why. Nothing of headers, body
 * or query is in it, and of an event only its id and whether its type is a known one.
 */
export function createRequestLog(log: Log): (request: AnsweredRequest) => void {
  return ({ method, path, status, durationMs, refused, receipt }) => {
    const level = levelOf(status, path);
    if (!log.isLevelEnabled(level)) return;
    log[level](
      {
        method,
        path: path.slice(0, LONGEST_PATH),
        status,
        duration_ms: Math.round(durationMs * 10) / 10,
        ...(refused === undefined ? {} : { result: "refused", reason: refused }),
        ...(receipt ? describe(receipt) : {}),
      },
      "answered",
    );
  };
}

function levelOf(status: number, path: string): "debug" | "info" | "warn" | "error" {
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
      const hashes = receipt.differs ? { stored_sha256, received_sha256 } : {};
      return { result: receipt.kind, event_id: receipt.id, type: knownType(receipt.type), ...hashes };
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
