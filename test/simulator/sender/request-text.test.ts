import { getEventListeners } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { requestText } from "../../../simulator/sender/request-text.ts";
import { startRawServer } from "../../helpers/raw-server.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Asks a server that answers `bytes` and leaves its side open; returns the result, and whether we closed ours. */
async function asked(bytes: string, { mostBytes = 100, interrupted = false } = {}) {
  const ending = new AbortController();
  const connected = Promise.withResolvers<Socket>();
  const { url } = await startRawServer((socket) => {
    connected.resolve(socket);
    socket.write(bytes, () => interrupted && ending.abort());
  });
  const asking = requestText(new URL(url), { headers: {}, signal: ending.signal, mostBytes });
  const made = await asking.catch((error: unknown) => error);
  const socket = await connected.promise;
  if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
  return made;
}

describe("the connection of a request for a text is closed by us", () => {
  test("when the answer is whole", async () => {
    expect(await asked(OK)).toEqual({ status: 200, text: "ok" });
  });

  test("when the answer is too long", async () => {
    expect(await asked(OK, { mostBytes: 1 })).toEqual(
      new Error("its answer is longer than 0.0009765625 KiB"),
    );
  });

  test("when the wait is aborted", async () => {
    const made = await asked("HTTP/1.1 100 Continue\r\n\r\n", { interrupted: true });
    expect(made).toMatchObject({ name: "AbortError" });
  });
});

describe("a request for a text", () => {
  /** The headers that arrive, of requests that are all answered. */
  async function heads(...asked: { user?: string; headers?: Record<string, string> }[]): Promise<string[]> {
    const arrived: string[] = [];
    const onConnect = (socket: Socket) =>
      void socket.once("data", (bytes) => {
        arrived.push(bytes.toString());
        socket.write(OK);
      });
    const { url } = await startRawServer(onConnect, { onConnect: true });
    for (const { user = "", headers = {} } of asked) {
      const to = new URL(url.replace("http://", `http://${user}`));
      await requestText(to, { headers, signal: new AbortController().signal, mostBytes: 100 });
    }
    return arrived;
  }

  test("sends the user of its URL, unless a header is given", async () => {
    const [first, second] = await heads(
      { user: "u:p%40@" },
      { user: "u:p@", headers: { authorization: "Bearer t" } },
    );
    expect(first).toContain(`authorization: Basic ${Buffer.from("u:p@").toString("base64")}\r\n`);
    expect(second?.match(/^authorization: .*$/gim)).toEqual(["authorization: Bearer t"]);
  });

  test.each([
    ["a user that is no UTF-8", "http://100%:p@127.0.0.1:1", {}, "URI malformed"],
    [
      "a line break in a header",
      "http://127.0.0.1:1",
      { authorization: "Bearer x\r\ny: z" },
      "Invalid character",
    ],
  ])("is refused before it is sent with %s", async (_, url, headers, why) => {
    const { signal } = new AbortController();
    await expect(requestText(new URL(url), { headers, signal, mostBytes: 1 })).rejects.toThrow(why);
  });

  test("leaves no listener on its caller's signal", async () => {
    const { url } = await startRawServer((socket) => void socket.write(OK));
    const { signal } = new AbortController();
    await requestText(new URL(url), { headers: {}, signal, mostBytes: 100 });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
