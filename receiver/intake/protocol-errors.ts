import type { Socket } from "node:net";

type ProtocolError = { status: string; error: string; message: string };

const NOT_HTTP: ProtocolError = {
  status: "400 Bad Request",
  error: "bad_request",
  message: "This is not HTTP.",
};

const PROTOCOL_ERRORS: Readonly<Record<string, ProtocolError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    error: "request_timeout",
    message: "The request took too long to arrive.",
  },
  HPE_INVALID_EOF_STATE: {
    status: "400 Bad Request",
    error: "incomplete_body",
    message: "The request ended before its announced length.",
  },
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    error: "headers_too_large",
    message: "The headers are too large.",
  },
};

/** Answers what Node's parser couldn't read or waited for in vain, in JSON like every other answer. */
export function answerProtocolError(error: NodeJS.ErrnoException, socket: Socket): void {
  write(socket, PROTOCOL_ERRORS[error.code ?? ""] ?? NOT_HTTP);
}

/** Answers `CONNECT`, for which Node has no response to give. */
export function refuseTunnel(socket: Socket): void {
  write(socket, {
    status: "405 Method Not Allowed\r\nAllow: POST",
    error: "method_not_allowed",
    message: "Send events with POST.",
  });
}

function write(socket: Socket, { status, ...body }: ProtocolError): void {
  // Nobody is there any more.
  if (!socket.writable) return;
  const json = JSON.stringify(body);
  socket.write(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${String(Buffer.byteLength(json))}\r\n\r\n${json}`,
  );
}
