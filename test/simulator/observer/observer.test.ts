import { describe, expect, test } from "vitest";
import { createObserver } from "../../../simulator/observer/observer.ts";
import { startRawServer } from "../../helpers/raw-server.ts";

const ID = "evt_0123456789abcdef0123456789abcdef";

async function readOf(answer: string, options?: { timeoutMs?: number }) {
  const server = await startRawServer((socket) => socket.end(answer));
  return createObserver(`${server.url}inbox/{id}`, options)(ID);
}

function http(status: string, body: string): string {
  return `HTTP/1.1 ${status}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

describe("a receiver's report of an event", () => {
  test.each([
    ['{"handled":1}', { known: true, count: 1 }],
    ['{"handled":0,"state":"dead","duplicates":2}', { known: true, count: 0, state: "dead", duplicates: 2 }],
    [
      '{"handled":3,"state":7,"duplicates":"many"}',
      { known: true, count: 3, state: undefined, duplicates: undefined },
    ],
  ])("%s", async (body, reading) => {
    expect(await readOf(http("200 OK", body))).toMatchObject(reading);
  });

  test("404: it was never handled; an address that is none: unknown", async () => {
    const reason = '"inbox/{id}" is not a URL.';
    expect(await createObserver("inbox/{id}")(ID)).toEqual({ known: false, reason });
    expect(await readOf(http("404 Not Found", "nothing"))).toEqual({ known: true, count: 0 });
  });

  test.each([
    ["500 Oops", "{}", "answered 500 instead of 200"],
    ["302 Found", "{}", "answered 302 instead of 200"],
    ["200 OK", '{"handled":"once"}', 'must answer JSON with a number "handled"'],
    ["200 OK", '{"handled":-1}', 'must answer JSON with a number "handled"'],
    ["200 OK", '{"handled":1.5}', 'must answer JSON with a number "handled"'],
    ["200 OK", "<html>", "but answered: <html>"],
  ])("%s %s: unknown, with the reason", async (status, body, reason) => {
    expect(await readOf(http(status, body))).toMatchObject({
      known: false,
      reason: expect.stringContaining(reason),
    });
  });

  test("the id is encoded in every place of the URL, and a password in the URL appears in no message", async () => {
    const asked: string[] = [];
    const server = await startRawServer(
      (socket) =>
        void socket.once("data", (bytes: Buffer) => {
          asked.push(bytes.toString());
          socket.end(http("500 Oops", ""));
        }),
      { onConnect: true },
    );
    const template = `http://ada:secret@127.0.0.1:${server.port}/{id}?again={id}`;
    const reading = await createObserver(template)("a/b c");
    expect(asked[0]).toContain("GET /a%2Fb%20c?again=a%2Fb%20c HTTP/1.1");
    expect(asked[0]).toContain(`authorization: Basic ${btoa("ada:secret")}`);
    expect(JSON.stringify(reading)).not.toContain("secret");
  });
});

describe("a reading is bounded", () => {
  test("in bytes: an answer is read up to 64 KiB", async () => {
    let written = 0;
    const server = await startRawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const block = Buffer.alloc(64 * 1024, " ");
      const pour = () => {
        while (!socket.destroyed && socket.write(block)) written += block.byteLength;
      };
      socket.on("drain", pour);
      pour();
    });
    const reading = await createObserver(`${server.url}{id}`)(ID);
    expect(reading).toMatchObject({ known: false, reason: expect.stringContaining("longer than 64 KiB") });
    expect(written).toBeLessThan(50 * 1024 * 1024);
  });

  test("of exactly 64 KiB is read whole", async () => {
    const body = `{"handled":1}`.padEnd(64 * 1024, " ");
    expect(await readOf(http("200 OK", body))).toMatchObject({ known: true, count: 1 });
    expect(await readOf(http("200 OK", `${body} `))).toMatchObject({ known: false });
  });

  test.each([
    ["says nothing", ""],
    ["drips 1xx answers", "HTTP/1.1 102 Processing\r\n\r\n"],
    ["drips its body", "HTTP/1.1 200 OK\r\n\r\n{"],
  ])("in time, all of it together: one that %s", async (_, drop) => {
    const server = await startRawServer((socket) => {
      socket.write(drop);
      const timer = setInterval(() => socket.write(drop.slice(-1) === "{" ? " " : drop), 10);
      socket.on("close", () => clearInterval(timer));
    });
    const startedMs = performance.now();
    const reading = await createObserver(`${server.url}{id}`, { timeoutMs: 100 })(ID);
    expect(reading).toMatchObject({ known: false, reason: expect.stringContaining("within 0.1 s") });
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    const { signal } = new AbortController();
    expect(await createObserver(`${server.url}{id}`, { timeoutMs: 100 })(ID, signal)).toEqual(reading);
  });

  test("by the caller: a signal ends it", async () => {
    const server = await startRawServer(() => {});
    const asked = new AbortController();
    const reading = createObserver(`${server.url}{id}`)(ID, asked.signal);
    asked.abort();
    expect(await reading).toMatchObject({ known: false });
  });
});

test("uses a new connection each time, so a restarted receiver can be read", async () => {
  const server = await startRawServer((socket) => {
    // Offers keep-alive, but is closed before the second request.
    socket.write(http("200 OK", '{"handled":1}'));
    socket.once("data", () => socket.destroy());
  });
  const observe = createObserver(`${server.url}{id}`);
  expect(await observe(ID)).toMatchObject({ known: true });
  expect(await observe(ID)).toMatchObject({ known: true });
  expect(server.connections()).toBe(2);
});
