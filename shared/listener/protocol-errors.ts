import type { Socket } from "node:net";

type ProtocolError = readonly [status: string, error: string, message: string];

/** What node:http would answer without a body, or not at all. */
export const ERRORS = {
  notHttp: ["400 Bad Request", "bad_request", "This is not HTTP."],
  hostMissing: ["400 Bad Request", "bad_request", "HTTP/1.1 requires a Host header."],
  incomplete: ["400 Bad Request", "incomplete_body", "The request ended before its announced length."],
  connect: ["405 Method Not Allowed\r\nAllow: POST", "method_not_allowed", "This is no proxy."],
  timeout: ["408 Request Timeout", "request_timeout", "The request took too long to arrive."],
  expectation: ["417 Expectation Failed", "expectation_failed", "Only 100-continue can be expected."],
  headersTooLarge: ["431 Request Header Fields Too Large", "headers_too_large", "The headers are too large."],
} as const satisfies Record<string, ProtocolError>;

const BY_CODE: Readonly<Record<string, ProtocolError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ERRORS.timeout,
  HPE_INVALID_EOF_STATE: ERRORS.incomplete,
  HPE_HEADER_OVERFLOW: ERRORS.headersTooLarge,
};

/** The answer to what Node's parser could not read, or did not get in time. */
export function errorOf({ code = "" }: NodeJS.ErrnoException): ProtocolError {
  return BY_CODE[code] ?? ERRORS.notHttp;
}

/** Answers in JSON, like everything else; nothing where the client is gone. */
export function answerError(socket: Socket, [status, error, message]: ProtocolError): void {
  if (!socket.writable) return;
  const json = JSON.stringify({ error, message });
  socket.write(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${String(Buffer.byteLength(json))}\r\n\r\n${json}`,
  );
}
