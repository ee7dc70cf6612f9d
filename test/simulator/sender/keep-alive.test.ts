import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { wireHeaders } from "../../../simulator/domain/attempt-request.ts";
import { systemTime, type WallTime } from "../../../simulator/domain/wall-time.ts";
import { createSender } from "../../../simulator/sender/sender.ts";
import { loopTurns } from "../../helpers/loop-turns.ts";
import { startRawServer } from "../../helpers/raw-server.ts";
import { wordOf } from "./harness.ts";

const KEPT = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok";

/** A sender that keeps connections, a server that answers each request on them, and monotonic time that can be moved. */
async function start(answer: (socket: Socket, request: number) => void) {
  let requests = 0;
  const open = new Set<Socket>();
  const server = await startRawServer(
    (socket) => {
      open.add(socket);
      socket.on("data", () => answer(socket, ++requests));
    },
    { onConnect: true },
  );
  let aheadMs = 0;
  const wall: WallTime = { ...systemTime, monotonicMs: () => systemTime.monotonicMs() + aheadMs };
  const send = createSender({ wall, allowedHosts: [], keepAlive: true });
  const body = Buffer.from("{}");
  const attempt = async (faults: readonly "drop-answer"[] = []) => {
    const word = await wordOf(
      send({
        url: server.url,
        headers: wireHeaders({ url: server.url, keepAlive: true, signature: "t=1,v1=00", body }),
        body,
        answerMeans: "headers",
        faults: new Set(faults),
        signal: new AbortController().signal,
      }),
    );
    await loopTurns(3);
    return word;
  };
  return { attempt, server, open, pass: (ms: number) => void (aheadMs += ms), requests: () => requests };
}

test("a connection that the receiver promises to keep carries the next attempt", async () => {
  const { attempt, server } = await start((socket) => socket.write(KEPT));
  for (let count = 0; count < 4; count++) expect(await attempt()).toBe(200);
  expect(server.connections()).toBe(1);
});

test.each([
  ["makes no promise", KEPT.replace("Keep-Alive: timeout=5\r\n", "")],
  ["promises a second, which is too short", KEPT.replace("timeout=5", "timeout=1")],
  ["says that it closes", KEPT.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")],
  ["sends more than it said", `${KEPT}!`],
  ["speaks HTTP/1.0", KEPT.replace("1.1", "1.0")],
])("a receiver that %s gets a connection each", async (_, answer) => {
  const { attempt, server } = await start((socket) => socket.write(answer));
  for (let count = 1; count <= 3; count++) {
    expect(await attempt()).toBe(200);
    expect(server.connections()).toBe(count);
  }
});

test("a connection that was closed meanwhile is not used, in whatever way it ended", async () => {
  for (const end of ["end", "resetAndDestroy", "destroy"] as const) {
    const { attempt, server, open } = await start((socket) => socket.write(KEPT));
    expect(await attempt()).toBe(200);
    for (const socket of open) socket[end]();
    await loopTurns(10);
    expect(await attempt()).toBe(200);
    expect(server.connections()).toBe(2);
  }
});

test("a receiver that closes behind each answer, against its promise, is answered on a new connection each", async () => {
  const { attempt, server } = await start((socket) => socket.end(KEPT));
  for (let count = 1; count <= 5; count++) {
    expect(await attempt()).toBe(200);
    expect(server.connections()).toBe(count);
  }
});

test("nor is one that speaks without having been asked", async () => {
  const { attempt, server, open } = await start((socket) => socket.write(KEPT));
  expect(await attempt()).toBe(200);
  for (const socket of open) socket.write(KEPT.replace("200", "500"));
  await loopTurns(10);
  expect(await attempt()).toBe(200);
  expect(server.connections()).toBe(2);
});

test("the promise is used up to a second before its end", async () => {
  const { attempt, server, pass } = await start((socket) => socket.write(KEPT));
  await attempt();
  pass(3_900);
  await attempt();
  expect(server.connections()).toBe(1);
  pass(4_001);
  await attempt();
  expect(server.connections()).toBe(2);
});

test("however long a receiver promises, a minute of it is used", async () => {
  const { attempt, server, pass } = await start((socket) =>
    socket.write(KEPT.replace("timeout=5", "timeout=3600")),
  );
  await attempt();
  pass(55_000);
  await attempt();
  expect(server.connections()).toBe(1);
  pass(60_001);
  await attempt();
  expect(server.connections()).toBe(2);
});

test("of many connections to one receiver 64 are kept", async () => {
  const held: Socket[] = [];
  const { attempt, server, open } = await start((socket) => {
    held.push(socket);
    // All of them are under way at once.
    if (held.length === 70) for (const each of held) each.write(KEPT);
  });
  expect(new Set(await Promise.all(Array.from({ length: 70 }, () => attempt())))).toEqual(new Set([200]));
  expect(server.connections()).toBe(70);
  await expect
    .poll(() => [...open].filter((socket) => !socket.closed && !socket.readableEnded).length)
    .toBe(64);
});

test("a failed attempt, and one with a fault, leave no connection behind", async () => {
  const { attempt, server } = await start((socket, request) =>
    socket.write(request === 1 ? "nonsense\r\n\r\n" : KEPT),
  );
  expect(await attempt()).toBe("protocol");
  expect(await attempt(["drop-answer"])).toBe("closed");
  expect(await attempt()).toBe(200);
  expect(server.connections()).toBe(3);
});

test("each attempt is on the wire once, though its connection breaks", async () => {
  const { attempt, requests } = await start((socket, request) => {
    if (request === 2) socket.destroy();
    else socket.write(KEPT);
  });
  expect(await attempt()).toBe(200);
  expect(await attempt()).toBe("closed");
  expect(await attempt()).toBe(200);
  expect(requests()).toBe(3);
});
