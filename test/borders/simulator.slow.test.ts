import type { Socket } from "node:net";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { RESPONSE_TIMEOUT_MS } from "../../simulator/domain/limits.ts";
import { serve } from "../helpers/process.ts";
import { figure, slowestDuring, usageOf } from "./measured.ts";

/**
 * Programs on this machine attack a simulator that runs as a separate process. An honest request is still answered
 * soon, and memory stays within a bound. `BORDERS` says how many times larger the attacks are.
 */
const SIZE = Number(process.env["BORDERS"] ?? 1);

/** Long runs have the machine to themselves; beside other tests the limit is the service's own 10 s. */
const SLOWEST_MS = SIZE > 1 ? 2_000 : RESPONSE_TIMEOUT_MS;
const MOST_MEGABYTES = 400;

test("no request to the control API stops the simulator, fills its memory or changes its data", async () => {
  const simulator = await serve(["--seed", "7"]);
  const { port } = new URL(simulator.url);
  const pid = simulator.child.pid ?? 0;
  const ask = async (): Promise<void> => {
    expect((await fetch(`${simulator.url}/control/clock`)).status).toBe(200);
  };
  const send = async (path: string, body: string, headers: Record<string, string> = {}): Promise<number> => {
    const answer = await fetch(simulator.url + path, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const keys = Object.fromEntries(Array.from({ length: 600_000 }, (_, at) => [`k${String(at)}`, 1]));
  const attacks: Record<string, [path: string, body: string]> = {
    "a type of a megabyte": ["/control/events", JSON.stringify({ type: "x".repeat(1_000_000) })],
    "JSON nested a hundred thousand times": [
      "/control/events",
      `{"type":"call.completed","object":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    ],
    "an object of 600,000 keys": [
      "/control/events",
      JSON.stringify({ type: "call.completed", object: keys }),
    ],
    "twenty megabytes": ["/control/events", " ".repeat(20_000_000)],
    "metadata of a cloud": ["/control/endpoints", '{"url":"http://169.254.169.254/latest"}'],
    "the same as mapped IPv6": ["/control/endpoints", '{"url":"http://[::ffff:a9fe:a9fe]/"}'],
    "a password in an address": ["/control/endpoints", '{"url":"http://me:word@127.0.0.1/"}'],
  };
  // Warm up first: modules loaded by the first request of a kind must not count as memory of the attack.
  expect(await send("/control/events", '{"type":"call.completed"}')).toBe(202);
  for (const [name, [path, body]] of Object.entries(attacks)) {
    let status = 0;
    const slowestMs = await slowestDuring(async () => {
      for (let sent = 0; sent < SIZE; sent += 1) status = await send(path, body);
    }, ask);
    const { peakMegabytes } = usageOf(pid);
    figure(name, `${String(status)}, ${String(slowestMs)} ms, ${String(peakMegabytes)} MB`);
    expect(status, name).toBeGreaterThanOrEqual(400);
    expect(status, name).toBeLessThan(500);
    expect(slowestMs, name).toBeLessThan(SLOWEST_MS);
    expect(peakMegabytes, name).toBeLessThan(MOST_MEGABYTES);
  }
  expect(await send("/control/reset", "{}", { origin: "http://evil.example" })).toBe(403);

  // Requests from other sites are refused by their Host header; refusing must be cheap, too.
  const pipelined = Buffer.from("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".repeat(10_000));
  const sockets: Socket[] = [];
  const slowestRefusedMs = await slowestDuring(async () => {
    for (let come = 0; come < 60 * SIZE; come += 1) {
      const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
      socket.pause().write(pipelined);
      sockets.push(socket);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }, ask);
  const megabytes = usageOf(pid).peakMegabytes;
  for (const socket of sockets) socket.destroy();
  figure(
    "pipelined with another Host, answers never read",
    `${String(slowestRefusedMs)} ms, ${String(megabytes)} MB`,
  );
  expect(slowestRefusedMs).toBeLessThan(SLOWEST_MS);
  expect(megabytes).toBeLessThan(MOST_MEGABYTES);

  const streams: Socket[] = Array.from({ length: 50 * SIZE }, () => {
    const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
    socket.write(
      `GET /control/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    return socket.pause();
  });
  const slowestMs = await slowestDuring(async () => {
    for (let batch = 0; batch < 5 * SIZE; batch += 1)
      expect(await send("/control/events", '{"type":"call.completed","count":50}')).toBe(202);
  }, ask);
  const { peakMegabytes } = usageOf(pid);
  for (const socket of streams) socket.destroy();
  figure("streams that nobody reads", `${String(slowestMs)} ms, ${String(peakMegabytes)} MB`);
  expect(slowestMs).toBeLessThan(SLOWEST_MS);
  expect(peakMegabytes).toBeLessThan(MOST_MEGABYTES);
});
