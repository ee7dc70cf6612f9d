import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { startRawServer } from "../../helpers/raw-server.ts";
import { open, rawRequest, readAnswer, sendRaw } from "../helpers/raw.ts";
import { balanceOver } from "./balancer.ts";

const OK = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";

/** Two processes behind one balancer: the first is killed, as `dies` says, and the second answers. */
async function firstDies(dies: (socket: Socket) => void, onConnect = false): Promise<string> {
  const first = await startRawServer(dies, { onConnect });
  const second = await startRawServer((socket) => socket.end(OK));
  let turn = 0;
  return balanceOver(() => [(turn++ % 2 === 0 ? first : second).port]);
}

test("a connection whose process goes away before the client has sent a byte is answered by another", async () => {
  const url = await firstDies((socket) => socket.destroy(), true);
  const client = open(url);
  const answer = readAnswer(client);
  // Once another is answered, whatever comes of a silent connection has come.
  const other = sendRaw(url, rawRequest(url, {}));
  await Promise.race([answer, other]);
  client.write(rawRequest(url, {}));
  expect([(await other).status, (await answer).status]).toEqual([200, 200]);
  client.destroy();
});

test("a request whose process goes away before a byte of the answer is answered by another", async () => {
  const url = await firstDies((socket) => socket.destroy());
  expect((await sendRaw(url, rawRequest(url, {}))).status).toBe(200);
});

test("an answer of which a part has come is never begun anew", async () => {
  const url = await firstDies((socket) => socket.end(OK.slice(0, 20)));
  await expect(sendRaw(url, rawRequest(url, {}))).rejects.toThrow("HTTP/1.1 200 OK");
});
