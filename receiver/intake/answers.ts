import type { ServerResponse } from "node:http";
import type { Receipt } from "./inbox.ts";

/** The sender has its own schedule and ignores this; other clients and proxies read it. */
const RETRY_AFTER_SECONDS = "5";

/**
 * An answer, made once and sent often. The body is a text, since Node.js writes a text in one piece with the headers, and a
 * buffer in a second one.
 */
export type Answer = { status: number; headers: string[]; body: string };

/**
 * Every answer of the webhook. An error says no more than the sender needs: the precise reason goes to the log and the
 * metrics.
 */
export const ANSWERS = {
  stored: jsonAnswer(200, { received: true, duplicate: false }),
  duplicate: jsonAnswer(200, { received: true, duplicate: true }),
  invalid_signature: errorAnswer(
    401,
    "invalid_signature",
    "The signature does not verify. Its precise fault is in the receiver's log.",
  ),
  invalid_json: errorAnswer(400, "invalid_json", "The body is not JSON in UTF-8."),
  invalid_event: errorAnswer(
    400,
    "invalid_event",
    "The body is JSON, but not an event. Its fault is in the receiver's log.",
  ),
  unavailable: errorAnswer(
    503,
    "unavailable",
    "The event was not stored. Send it again later.",
    "Retry-After",
    RETRY_AFTER_SECONDS,
  ),
  too_large: errorAnswer(413, "body_too_large", "The body exceeds the limit of this receiver."),
  encoded: errorAnswer(
    415,
    "unsupported_encoding",
    "Send the body as it was signed, without Content-Encoding.",
  ),
  incomplete: errorAnswer(400, "incomplete_body", "The body ended before its announced length."),
  method: errorAnswer(405, "method_not_allowed", "Send events with POST.", "Allow", "POST"),
  failed: errorAnswer(500, "server_error", "The receiver failed. Send the event again later."),
} as const satisfies Record<Receipt["kind"], Answer> & Record<string, Answer>;

/** Makes an answer of any JSON. */
export function jsonAnswer(status: number, json: unknown, headers: readonly string[] = []): Answer {
  const body = JSON.stringify(json);
  return {
    status,
    headers: [
      ...headers,
      "Content-Type",
      "application/json; charset=utf-8",
      "Content-Length",
      String(Buffer.byteLength(body)),
    ],
    body,
  };
}

/** Makes the answer of an error; `headers` are names and values in turn. */
export function errorAnswer(status: number, error: string, message: string, ...headers: string[]): Answer {
  return jsonAnswer(status, { error, message }, headers);
}

/**
 * Sends it. `close` asks the client to come back on another connection; so does a request that hasn't arrived in full,
 * since what is left of it must not become the next one.
 */
export function send(response: ServerResponse, answer: Answer, { close }: { close: boolean }): void {
  // The app around us may have answered already, such as at a time-out of its own.
  if (response.headersSent) return;
  // Node.js then sends `Connection: close`; the listener parses nothing more of this connection.
  if (close || !response.req.complete) response.shouldKeepAlive = false;
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body, "latin1");
}
