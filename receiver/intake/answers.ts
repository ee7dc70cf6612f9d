import type { Receipt } from "./inbox.ts";

/** An answer, made once and sent often. A text body goes out in one piece with the headers, a buffer in a second one. */
export type Answer = { status: number; headers: Record<string, string>; body: string };

const LATER = { "Retry-After": "5" };

/**
 * Every answer of the webhook. An error says no more than the sender needs: the precise reason goes to the log and the
 * metrics. The sender has its own schedule and ignores Retry-After, but other clients and proxies read it.
 */
export const ANSWERS = {
  stored: answer(200, { received: true, duplicate: false }),
  duplicate: answer(200, { received: true, duplicate: true }),
  invalid_signature: refusal(401, "invalid_signature", "The signature does not verify. The log says why."),
  invalid_json: refusal(400, "invalid_json", "The body is not JSON in UTF-8."),
  invalid_event: refusal(400, "invalid_event", "The body is JSON, but not an event. The log says why."),
  unavailable: refusal(503, "unavailable", "The event was not stored. Send it again later.", LATER),
  overloaded: refusal(503, "unavailable", "Too much arrives at once. Send it again later.", LATER),
  too_large: refusal(413, "body_too_large", "The body exceeds the limit of this receiver."),
  in_pieces: refusal(400, "invalid_request", "The body comes in too many small pieces."),
  encoded: refusal(415, "unsupported_encoding", "Send the body as it was signed, without Content-Encoding."),
  incomplete: refusal(400, "incomplete_body", "The body ended before its announced length."),
  late: refusal(408, "request_timeout", "The body took too long to arrive."),
  method: refusal(405, "method_not_allowed", "Send events with POST.", { Allow: "POST" }),
  no_bytes: refusal(500, "server_error", "The receiver got no bytes to verify. Its log says why."),
  failed: refusal(500, "server_error", "The receiver failed. Send the event again later."),
} as const satisfies Record<Receipt["kind"], Answer> & Record<string, Answer>;

function refusal(status: number, error: string, message: string, headers?: Record<string, string>): Answer {
  return answer(status, { error, message }, headers);
}

function answer(status: number, json: object, headers: Record<string, string> = {}): Answer {
  const body = JSON.stringify(json);
  const type = "application/json; charset=utf-8";
  return {
    status,
    headers: { ...headers, "Content-Type": type, "Content-Length": String(Buffer.byteLength(body)) },
    body,
  };
}
