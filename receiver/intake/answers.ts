import type { ServerResponse } from "node:http";
import type { Receipt } from "./inbox.ts";

/** The sender has its own schedule and ignores this; other clients and proxies read it. */
const RETRY_AFTER = ["Retry-After", "5"];

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
  stored: answer(200, { received: true, duplicate: false }),
  duplicate: answer(200, { received: true, duplicate: true }),
  invalid_signature: refusal(401, "invalid_signature", "The signature does not verify. The log says why."),
  invalid_json: refusal(400, "invalid_json", "The body is not JSON in UTF-8."),
  invalid_event: refusal(400, "invalid_event", "The body is JSON, but not an event. The log says why."),
  unavailable: refusal(503, "unavailable", "The event was not stored. Send it again later.", RETRY_AFTER),
  too_large: refusal(413, "body_too_large", "The body exceeds the limit of this receiver."),
  encoded: refusal(415, "unsupported_encoding", "Send the body as it was signed, without Content-Encoding."),
  in_pieces: refusal(400, "invalid_request", "The body comes in too many small pieces."),
  incomplete: refusal(400, "incomplete_body", "The body ended before its announced length."),
  method: refusal(405, "method_not_allowed", "Send events with POST.", ["Allow", "POST"]),
  failed: refusal(500, "server_error", "The receiver failed. Send the event again later."),
} as const satisfies Record<Receipt["kind"], Answer> & Record<string, Answer>;

function refusal(status: number, error: string, message: string, headers: readonly string[] = []): Answer {
  return answer(status, { error, message }, headers);
}

/** `headers` are names and values in turn. */
function answer(status: number, json: object, headers: readonly string[] = []): Answer {
  const body = JSON.stringify(json);
  const length = ["Content-Length", String(Buffer.byteLength(body))];
  return {
    status,
    headers: [...headers, "Content-Type", "application/json; charset=utf-8", ...length],
    body,
  };
}

/**
 * Sends it. `close` asks the client to come back on another connection; so does a request that hasn't arrived in full,
 * since the rest of its bytes must not be read as the next request.
 */
export function send(response: ServerResponse, answer: Answer, { close }: { close: boolean }): void {
  // The app around us may have answered already, such as at a time-out of its own.
  if (response.headersSent) return;
  // Node.js then sends `Connection: close`; the listener parses nothing more of this connection.
  if (close || !response.req.complete) response.shouldKeepAlive = false;
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body, "latin1");
}
