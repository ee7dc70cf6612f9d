import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../receiver/serve.ts";
import { standingClock } from "./helpers/clock.ts";
import { listen } from "../helpers/listen.ts";
import { createServer } from "node:http";

/** node:http's own server, which is left where the listener's line is deleted. */

async function start() {
  const clock = standingClock();
  const ends: (() => void)[] = [];
  const served = await serve((_request, response) => void ends.push(() => response.end("here")), {
    port: 0,
    host: "127.0.0.1",
    clock,
  });
  const ask = async (): Promise<Socket> => {
    const socket = connect(served.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const before = ends.length;
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await expect.poll(() => ends.length).toBe(before + 1);
    return socket;
  };
  return { ...served, clock, ends, ask };
}

test("a drain lets what is being answered be finished, takes nothing new, and leaves no timer", async () => {
  const { drain, port, clock, ends, ask } = await start();
  const socket = await ask();
  const drained = drain(1_000);
  const refused = connect(port, "127.0.0.1");
  expect(await once(refused, "error")).toMatchObject([{ code: "ECONNREFUSED" }]);
  await clock.pass(999);
  const answer = once(socket, "data");
  ends[0]?.();
  expect(String(await answer)).toContain("\r\n\r\nhere");
  await drained;
  expect(clock.waiting()).toBe(0);
});

test("a drain cuts what is left when its time is over, and not before", async () => {
  const { drain, clock, ask } = await start();
  const socket = (await ask()).resume();
  const closed = once(socket, "close");
  const drained = drain(1_000);
  await clock.pass(999);
  expect(socket.closed).toBe(false);
  await clock.pass(1);
  await Promise.all([closed, drained]);
  expect(clock.waiting()).toBe(0);
});

test("a port that is taken is told of", async () => {
  const { port } = await listen(createServer());
  const served = serve(() => undefined, { port, host: "127.0.0.1", clock: standingClock() });
  await expect(served).rejects.toMatchObject({ code: "EADDRINUSE", port });
});
