import { expect, test } from "vitest";
import { createAnswerParser } from "../../simulator/verify/answer-parser.ts";

const ANSWER = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
const MEGABYTE = Buffer.alloc(1_024 * 1_024, "x");

test("what comes behind an answer is waited for up to a bound, and is the next answer", () => {
  const parser = createAnswerParser();
  parser.feed(Buffer.concat([ANSWER, ANSWER]));
  expect([parser.done(), parser.isSated()]).toEqual([true, false]);
  expect([parser.take(), parser.take()]).toMatchObject([
    { status: 200, complete: true },
    { status: 200, complete: true },
  ]);

  parser.feed(ANSWER);
  parser.feed(MEGABYTE);
  expect(parser.isSated()).toBe(false);
  parser.feed(Buffer.from("x"));
  expect(parser.isSated()).toBe(true);
  expect(parser.take()).toMatchObject({ complete: true, body: Buffer.from("ok") });
});

test.each([
  ["a body without an end", "HTTP/1.1 200 OK\r\n\r\n"],
  ["a chunk without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n"],
  ["a header without an end", "HTTP/1.1 200 OK\r\nX-Long: "],
])("%s is read no further than a megabyte", (_, beginning) => {
  const parser = createAnswerParser();
  parser.feed(Buffer.from(beginning));
  expect(parser.isSated()).toBe(false);
  parser.feed(MEGABYTE);
  parser.feed(Buffer.from("x"));
  expect(parser.isSated()).toBe(true);
});
