import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { freePort } from "../../helpers/free-port.ts";
import { startRawServer } from "../../helpers/raw-server.ts";
import { leavesNothingOpen, OK, sendTo, SHORT_MS, wordOf } from "./harness.ts";

const EMPTY = "Content-Length: 0\r\n\r\n";
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

leavesNothingOpen();

/** An attempt at a server that does this when the request has arrived. */
async function attempt(
  conversation: (socket: Socket) => void,
  options: Parameters<typeof sendTo>[1] & { onConnect?: boolean } = {},
) {
  const { onConnect = false, ...settings } = options;
  const server = await startRawServer(conversation, { onConnect });
  const result = await sendTo(server.url, settings);
  await server.close();
  return result;
}

describe("an answer", () => {
  test.each<[string, string | Buffer, string | number]>([
    ["a 200 without a reason or a body", "HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n", 200],
    ["a 204", "HTTP/1.1 204 No Content\r\n\r\n", 204],
    ["a redirect, which is not followed", `HTTP/1.1 302 Found\r\nLocation: /\r\n${EMPTY}`, 302],
    ["a status that nobody knows", `HTTP/1.1 999 Odd\r\n${EMPTY}`, 999],
    ["100 Continue, then 200", `HTTP/1.1 100 Continue\r\n\r\n${OK}`, 200],
    ["102 and 103, then 200", `HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\nLink: </a>\r\n\r\n${OK}`, 200],
    ["100 Continue, then 500", `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 X\r\n${EMPTY}`, 500],
    ["101 for an upgrade nobody asked for", "HTTP/1.1 101 S\r\nConnection: upgrade\r\n\r\n", "protocol"],
    ["status 000", `HTTP/1.1 000 Zero\r\n${EMPTY}`, "protocol"],
    ["status 099", `HTTP/1.1 099 Odd\r\n${EMPTY}`, "protocol"],
    ["bytes that mean nothing", Buffer.from("00ff1380fe0d0a0d0a", "hex"), "protocol"],
    ["a body without headers", "ok\r\n\r\n", "protocol"],
    ["100 KiB of headers", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100 * 1024)}\r\n\r\n`, "protocol"],
    ["10,000 headers", `HTTP/1.1 200 OK\r\n${"X: x\r\n".repeat(10_000)}\r\n`, "protocol"],
  ])("of %s", async (_name, bytes, word) => {
    expect(await wordOf(attempt((socket) => socket.write(bytes)))).toBe(word);
  });

  test("that comes before the request was read counts", async () => {
    const options = { onConnect: true, body: Buffer.alloc(4_000_000, "x") };
    const early = attempt((socket) => socket.write(`HTTP/1.1 401 Unauthorized\r\n${EMPTY}`), options);
    expect(await wordOf(early)).toBe(401);
  });

  test("in single bytes counts", async () => {
    const dripping = attempt((socket) => {
      let at = 0;
      const drip = () => {
        if (at < OK.length && socket.writable) socket.write(OK.charAt(at++), () => setImmediate(drip));
      };
      drip();
    });
    expect(await wordOf(dripping)).toBe(200);
  });
});

describe("a connection that breaks", () => {
  test.each<[string, string, string]>([
    ["with not a byte sent", "", "closed"],
    ["within the status line", "HTTP/1.1 2", "closed"],
    ["within the headers", "HTTP/1.1 200 OK\r\nContent-Le", "closed"],
    ["after 1xx answers", "HTTP/1.1 103 E\r\n\r\n", "closed"],
  ])("in good order, %s", async (_name, bytes, word) => {
    expect(await wordOf(attempt((socket) => void socket.end(bytes)))).toBe(word);
  });

  const HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
  test.each([0, 1, 8, 12, 17, HEAD.length - 1])("by a reset after %i bytes of the answer", async (bytes) => {
    const broken = attempt((socket) => {
      socket.write(HEAD.slice(0, bytes), () => setImmediate(() => socket.resetAndDestroy()));
    });
    expect(await wordOf(broken)).toBe("reset");
  });

  test("by a reset as soon as it is accepted", async () => {
    const options = { onConnect: true, body: Buffer.alloc(1_000_000) };
    const broken = attempt((socket) => void socket.resetAndDestroy(), options);
    expect(await wordOf(broken)).toBe("reset");
  });

  test("after the headers changes nothing: the status had arrived", async () => {
    for (const end of ["end", "resetAndDestroy"] as const) {
      const result = await attempt((socket) => {
        socket.write(`${HEAD}half`, () => setImmediate(() => socket[end]()));
      });
      expect(result.outcome).toEqual({ status: 200 });
    }
  });

  test("by a refusal if nothing listens", async () => {
    const result = await sendTo(`http://127.0.0.1:${await freePort()}/`);
    const detail = expect.stringContaining("ECONNREFUSED") as string;
    expect(result.outcome).toMatchObject({ error: "refused", detail });
    expect(await wordOf(sendTo(`http://localhost:${await freePort()}/`))).toBe("refused");
  });
});

describe("an answer that is read to its end (answer_means full_body)", () => {
  const answerMeans = "full_body" as const;

  test.each<[string, string, "end" | "resetAndDestroy" | "none", string | number]>([
    ["whole", OK, "none", 200],
    ["whole, in chunks", `${CHUNKED}2\r\nok\r\n0\r\n\r\n`, "none", 200],
    ["whole, up to the end of the connection", "HTTP/1.1 200 OK\r\n\r\nok", "end", 200],
    ["cut short in good order", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "end", "closed"],
    ["cut short in a chunk", `${CHUNKED}9\r\nok`, "end", "closed"],
    ["cut short by a reset", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "resetAndDestroy", "reset"],
    ["without a length, cut by a reset", "HTTP/1.1 200 OK\r\n\r\nok", "resetAndDestroy", "reset"],
    ["in broken chunks", `${CHUNKED}zz\r\n`, "none", "protocol"],
    ["a failure anyway", "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", "none", 500],
  ])("%s", async (_name, bytes, end, word) => {
    const answer = (socket: Socket) =>
      void socket.write(bytes, () => setImmediate(() => end !== "none" && socket[end]()));
    expect(await wordOf(attempt(answer, { answerMeans }))).toBe(word);
  });

  test("never ends: that is a time-out, not a success", async () => {
    const result = await attempt(flood, { answerMeans, timeoutMs: SHORT_MS });
    expect(result.outcome).toEqual({ error: "timeout" });
    expect(result.answer?.body).toHaveLength(16 * 1024);
  });
});

describe("what is kept of an answer", () => {
  test("is 16 KiB of a body that never ends, at once", async () => {
    const result = await attempt(flood);
    expect(result).toMatchObject({ outcome: { status: 200 }, answer: { truncated: true } });
    expect(result.answer?.body).toHaveLength(16 * 1024);
  });

  test("is the whole of a body of exactly 16 KiB", async () => {
    const body = "x".repeat(16 * 1024);
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
    const result = await attempt((socket) => socket.write(head + body));
    expect(result.answer).toMatchObject({ truncated: false });
    expect(result.answer?.body.toString()).toBe(body);
  });

  test("is the raw bytes: a compressed body is not unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000));
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
    const result = await attempt((socket) => socket.write(Buffer.concat([Buffer.from(head), bomb])));
    expect(result.outcome).toEqual({ status: 200 });
    expect(result.answer?.body).toEqual(bomb.subarray(0, 16 * 1024));
  });

  test("is the headers, repeated ones too", async () => {
    const headers = `Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-One: 1\r\n${EMPTY}`;
    const result = await attempt((socket) => socket.write(`HTTP/1.1 200 OK\r\n${headers}`));
    expect(result.answer?.headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "x-one": "1" });
  });
});

describe("connections", () => {
  test("are never reused: a dead one cannot fail another attempt", async () => {
    // A server that offers keep-alive and closes the connection after the answer.
    const server = await startRawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n${EMPTY}`);
      setImmediate(() => socket.destroy());
    });
    for (let count = 1; count <= 5; count++) {
      expect(await wordOf(sendTo(server.url))).toBe(200);
      expect(server.connections()).toBe(count);
    }
    await server.close();
  });

  test("carry each request exactly once, under any failure", async () => {
    const server = await startRawServer((socket) => void socket.destroy());
    expect(await wordOf(sendTo(server.url))).toBe("closed");
    expect(server.connections()).toBe(1);
    await server.close();
  });
});

/** Headers and an endless body. */
function flood(socket: Socket): void {
  const chunk = Buffer.alloc(64 * 1024, "x");
  socket.write("HTTP/1.1 200 OK\r\n\r\n");
  const more = () => {
    if (socket.writable) socket.write(chunk, (error) => error ?? setImmediate(more));
  };
  more();
}
