import { connect, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { answerError, ERRORS, errorOf } from "../../shared/listener/protocol-errors.ts";

/** What is answered where Node's parser could not read a request: one status and one code for each cause. */

test.each([
  ["ERR_HTTP_REQUEST_TIMEOUT", 408, "request_timeout"],
  ["HPE_INVALID_EOF_STATE", 400, "incomplete_body"],
  ["HPE_HEADER_OVERFLOW", 431, "headers_too_large"],
  ["HPE_INVALID_METHOD", 400, "bad_request"],
  ["ECONNRESET", 400, "bad_request"],
  [undefined, 400, "bad_request"],
])("%s is told as %i %s", (code, status, error) => {
  const [line, word, message] = errorOf(Object.assign(new Error("it broke"), code !== undefined && { code }));
  expect([Number.parseInt(line, 10), word]).toEqual([status, error]);
  expect(message).toMatch(/^[A-Z].*\.$/);
});

test.each(Object.entries(ERRORS))(
  "%s is JSON of the length that it says, and the end of the connection",
  async (_, error) => {
    const server = createServer((socket: Socket) => {
      answerError(socket, error);
      socket.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const answer = await text(
      connect(typeof address === "object" && address !== null ? address.port : 0, "127.0.0.1"),
    );
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    const [line, ...headers] = head.split("\r\n");
    const [status = "", allow] = error[0].split("\r\n");
    expect(line).toBe(`HTTP/1.1 ${status}`);
    expect(headers).toEqual([
      ...(allow === undefined ? [] : [allow]),
      "Connection: close",
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]);
    expect(JSON.parse(body)).toEqual({ error: error[1], message: error[2] });
  },
);

test("each cause has a status of its own kind, and who asks for a tunnel is told what may be asked", () => {
  const told = Object.fromEntries(
    Object.entries(ERRORS).map(([name, [status, error]]) => [name, `${status} ${error}`]),
  );
  expect(told).toEqual({
    notHttp: "400 Bad Request bad_request",
    hostMissing: "400 Bad Request bad_request",
    incomplete: "400 Bad Request incomplete_body",
    connect: "405 Method Not Allowed\r\nAllow: POST method_not_allowed",
    timeout: "408 Request Timeout request_timeout",
    expectation: "417 Expectation Failed expectation_failed",
    headersTooLarge: "431 Request Header Fields Too Large headers_too_large",
  });
});
