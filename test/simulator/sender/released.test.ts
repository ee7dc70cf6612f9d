import { getEventListeners } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { startRawServer } from "../../helpers/raw-server.ts";
import { senderTo, sendTo, SHORT_MS } from "./harness.ts";

test("an attempt that has ended no longer listens to the signal that ends all of them", async () => {
  const endpoint = await startEndpoint();
  const { signal } = new AbortController();
  const send = senderTo(endpoint.url, { signal });
  const sent = [send(), send(), send()];
  expect(getEventListeners(signal, "abort")).toHaveLength(3);
  await Promise.all(sent);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

const OK = "HTTP/1.1 200 OK\r\n";

test.each<[string, (socket: Socket) => unknown]>([
  ["has no answer in time", () => undefined],
  ["has an answer from a server that keeps it", (socket) => socket.write(`${OK}Content-Length: 0\r\n\r\n`)],
])("the connection of an attempt that %s is closed", async (_, answer) => {
  const closed = Promise.withResolvers<string>();
  const { url } = await startRawServer((socket) => {
    socket.once("close", () => closed.resolve("closed"));
    answer(socket);
  });
  await sendTo(url, { timeoutMs: SHORT_MS });
  expect(await closed.promise).toBe("closed");
});
