import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { requestText } from "../../../simulator/sender/request-text.ts";
import { startRawServer } from "../../helpers/raw-server.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Asks a server that answers `bytes` and leaves its side open; answers what was made of it, and whether we closed ours. */
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

  test("when somebody ends the wait", async () => {
    const made = await asked("HTTP/1.1 100 Continue\r\n\r\n", { interrupted: true });
    expect(made).toMatchObject({ name: "AbortError" });
  });
});
