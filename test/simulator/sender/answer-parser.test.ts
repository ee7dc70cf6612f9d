import { array, assert, check, constantFrom, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { createAnswerParser } from "../../../simulator/sender/answer-parser.ts";

/** The parser's results for bytes in these pieces and, with `end`, for the end of the connection. */
function read(pieces: readonly (string | Buffer)[], options: { end?: boolean } = {}) {
  const said: {
    status?: number;
    headers?: unknown;
    body: string;
    whole?: "kept" | "closed";
    broken?: string;
  } = { body: "" };
  const parser = createAnswerParser({
    onHead: ({ status, headers }) => Object.assign(said, { status, headers }),
    onBody: (bytes) => (said.body += bytes.toString("latin1")),
    onWhole: (kept) => (said.whole = kept ? "kept" : "closed"),
    onBroken: (problem) => (said.broken = problem),
  });
  for (const piece of pieces) parser.feed(Buffer.from(piece));
  if (options.end === true) parser.end();
  return said;
}

const LENGTH = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\n\r\nok";
const CHUNKED =
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nhell\r\n1\r\no\r\n0\r\nX-T: 1\r\n\r\n";

describe("an answer", () => {
  test.each([
    ["with a length", LENGTH, "ok", "kept"],
    ["in chunks, with an extension and a trailer", CHUNKED, "hello", "kept"],
    ["without a body", "HTTP/1.1 204 No\r\n\r\n", "", "kept"],
    [
      "that says it has a body, but has a status that has none",
      "HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n",
      "",
      "kept",
    ],
    ["that closes", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok", "ok", "closed"],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", "closed"],
    [
      "of HTTP/1.0 that is kept",
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
      "ok",
      "kept",
    ],
    ["with more than it said behind it", `${LENGTH}!`, "ok", "closed"],
    ["in chunks with more behind it", `${CHUNKED}!`, "hello", "closed"],
    ["behind interim ones", `HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: a\r\n\r\n${LENGTH}`, "ok", "kept"],
  ])("%s", (_, bytes, body, whole) => {
    expect(read([bytes])).toMatchObject({ body, whole });
  });

  test("without a length is complete when the connection ends, and not before", () => {
    const bytes = "HTTP/1.1 200 OK\r\n\r\nok";
    expect(read([bytes]).whole).toBeUndefined();
    expect(read([bytes], { end: true })).toMatchObject({ body: "ok", whole: "closed" });
  });

  test.each([
    ["within the head", "HTTP/1.1 200 OK\r\nX-A"],
    ["within a body of known length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"],
    ["within a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok"],
    ["before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"],
    ["before the end of the trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n"],
  ])("that ends %s is incomplete", (_, bytes) => {
    expect(read([bytes], { end: true }).whole).toBeUndefined();
  });

  test("is parsed the same in any pieces", () => {
    const answers = [
      LENGTH,
      CHUNKED,
      `${LENGTH}!`,
      `HTTP/1.1 102 P\r\n\r\n${CHUNKED}`,
      CHUNKED.replace("hell\r", "hell!"),
    ];
    assert(
      property(constantFrom(...answers), array(nat(90), { maxLength: 12 }), (bytes, cuts) => {
        const places = [0, ...cuts.map((cut) => cut % bytes.length), bytes.length].toSorted((a, b) => a - b);
        const pieces = places.slice(1).map((place, index) => bytes.slice(places[index], place));
        const { broken: inOne, whole: wholeInOne, ...one } = read([bytes]);
        const { broken: inMany, whole: wholeInMany, ...many } = read(pieces);
        expect(many).toEqual(one);
        expect([inMany !== undefined, wholeInMany !== undefined]).toEqual([
          inOne !== undefined,
          wholeInOne !== undefined,
        ]);
      }),
      { numRuns: 1_000 },
    );
  });

  test("after another one on the same connection starts fresh", () => {
    const heads: number[] = [];
    let body = "";
    let wholes = 0;
    const parser = createAnswerParser({
      onHead: ({ status }) => heads.push(status),
      onBody: (bytes) => (body += bytes.toString()),
      onWhole: () => (wholes += 1),
      onBroken: () => {},
    });
    for (const bytes of [CHUNKED, CHUNKED, LENGTH, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", CHUNKED]) {
      parser.next();
      parser.feed(Buffer.from(bytes));
    }
    expect(heads).toEqual([200, 200, 200, 500, 200]);
    expect({ body, wholes }).toEqual({ body: "hellohellookhello", wholes: 5 });
  });
});

describe("not an answer", () => {
  test.each([
    ["another protocol, at its first bytes", "SSH-"],
    ["an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n"],
    ["HTTP/2", "HTTP/2 200 OK\r\n\r\n"],
    ["a status line without a status", "HTTP/1.1 OK\r\n\r\n"],
    ["lines that end with LF alone, at once", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"],
    ["a header before the status", "Server: x\r\n\r\n"],
    ["a space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"],
    ["a folded header", "HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n"],
    ["a header with CR", "HTTP/1.1 200 OK\r\nX: 1\r2\r\n\r\n"],
    ["a switch of protocols", "HTTP/1.1 101 S\r\n\r\n"],
    ["a length of words", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n"],
    ["a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"],
    ["the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"],
    [
      "a length and chunks",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a chunk of negative length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"],
    ["a chunk of 2^60 bytes", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n"],
    [
      "a chunk of more than it said",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n",
    ],
    [
      "a chunk's line that ends with LF alone",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\no\r\n0\r\n\r\n",
    ],
    [
      "a chunk's line without end",
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${"x".repeat(1_024)}`,
    ],
  ])("%s", (_, bytes) => {
    expect(read([bytes]).broken).toEqual(expect.any(String));
  });

  test("a head of more than 16 KiB, whether or not it ends", () => {
    const filler = "x".repeat(16 * 1024 - "HTTP/1.1 200 OK\r\nX: ".length);
    expect(read([`HTTP/1.1 200 OK\r\nX: ${filler}\r\n\r\n`]).broken).toBeUndefined();
    expect(read([`HTTP/1.1 200 OK\r\nX: ${filler}y\r\n\r\n`]).broken).toContain("16 KiB");
    expect(read([`HTTP/1.1 200 OK\r\nX: ${filler}yyyyy`]).broken).toContain("16 KiB");
  });

  test("is never followed by a body or an end", () => {
    const said = read(["nonsense", LENGTH], { end: true });
    expect(said).toEqual({ body: "", broken: expect.any(String) });
  });

  test("never throws for any bytes", () => {
    const start = constantFrom(
      "",
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    const bytes = array(
      constantFrom("\r\n", "\r\n\r\n", "0", "f", ":", ";", "a", "HTTP/1.1 100 C", "\0", "é", "\n"),
    );
    const readAll = property(start, bytes, (head, rest) => void read([head + rest.join("")], { end: true }));
    expect(check(readAll).failed).toBe(false);
  });
});
