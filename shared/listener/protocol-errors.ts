import type { Socket } from "node:net";

type ProtocolError = { status: string; error: string; message: string };

/** What node:http would answer without a body, or not at all. */
export const ERRORS = {
  notHttp: of("400 Bad Request", "bad_request", "This is not HTTP."),
  hostMissing: of("400 Bad Request", "bad_request", "HTTP/1.1 requires a Host header."),
  incomplete: of("400 Bad Request", "incomplete_body", "The request ended before its announced length."),
  connect: of("405 Method Not Allowed\r\nAllow: POST", "method_not_allowed", "This is no proxy."),
  timeout: of("408 Request Timeout", "request_timeout", "The request took too long to arrive."),
  expectation: of("417 Expectation Failed", "expectation_failed", "Only 100-continue can be expected."),
  headersTooLarge: of(
    "431 Request Header Fields Too Large",
    "headers_too_large",
    "The headers are too large.",
  ),
};

function of(status: string, error: string, message: string): ProtocolError {
  return { status, error, message };
}

const BY_CODE: Readonly<Record<string, ProtocolError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ERRORS.timeout,
  HPE_INVALID_EOF_STATE: ERRORS.incomplete,
  HPE_HEADER_OVERFLOW: ERRORS.headersTooLarge,
};

/** What Node's parser could not read, or waited for in vain. */
export function errorOf({ code = "" }: NodeJS.ErrnoException): ProtocolError {
  return BY_CODE[code] ?? ERRORS.notHttp;
}

/** Answers in JSON, like everything else; nothing where the client is gone. */
export function answerError(socket: Socket, { status, ...body }: ProtocolError): void {
  if (!socket.writable) return;
  const json = JSON.stringify(body);
  socket.write(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${String(Buffer.byteLength(json))}\r\n\r\n${json}`,
  );
}
