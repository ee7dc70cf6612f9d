import type { Socket } from "node:net";

type ProtocolError = { status: string; error: string; message: string };

/** What node:http would answer without a body, or not at all. */
export const ERRORS = {
  notHttp: { status: "400 Bad Request", error: "bad_request", message: "This is not HTTP." },
  hostMissing: {
    status: "400 Bad Request",
    error: "bad_request",
    message: "HTTP/1.1 requires a Host header.",
  },
  incomplete: {
    status: "400 Bad Request",
    error: "incomplete_body",
    message: "The request ended before its announced length.",
  },
  connect: {
    status: "405 Method Not Allowed\r\nAllow: POST",
    error: "method_not_allowed",
    message: "This is no proxy.",
  },
  timeout: {
    status: "408 Request Timeout",
    error: "request_timeout",
    message: "The request took too long to arrive.",
  },
  expectation: {
    status: "417 Expectation Failed",
    error: "expectation_failed",
    message: "Only 100-continue can be expected.",
  },
  headersTooLarge: {
    status: "431 Request Header Fields Too Large",
    error: "headers_too_large",
    message: "The headers are too large.",
  },
} as const satisfies Record<string, ProtocolError>;

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
