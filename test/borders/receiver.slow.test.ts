import type { Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RESPONSE_TIMEOUT_MS } from "../../simulator/domain/limits.ts";
import { newBody, post } from "../receiver/helpers/events.ts";
import { startProcess, type ReceiverProcess } from "../receiver/helpers/process.ts";
import { open, rawRequest } from "../receiver/helpers/raw.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { until } from "../receiver/helpers/until.ts";
import { figure, mostDescriptors, slowestDuring, usageOf } from "./measured.ts";

/**
 * Attacks on a receiver that runs as a separate process, from the network. Whatever goes on, an honest delivery is
 * acknowledged soon, and memory and descriptors stay within bounds. `BORDERS` says how many times larger than in
 * `npm test` the attacks are.
 */
const SIZE = Number(process.env["BORDERS"] ?? 1);

/** Long runs have the machine to themselves; beside other tests the limit is the service's own 10 s. */
const SLOWEST_MS = SIZE > 1 ? 2_000 : RESPONSE_TIMEOUT_MS;
/**
 * The receiver itself needs 140 (60 of them code), incoming bodies 64, and 1,024 connections with their input about 50.
 * Node.js keeps the rest: its young generation grows by 100 under load and shrinks only much later.
 */
const MOST_MEGABYTES = 400;
/** R7, in processor time of the thread: other programs of the machine don't count. */
const LONGEST_TURN_MS = 50;
/** Hundreds of connections may be read in one turn, and other tests slow the processor down. */
const SLOWER = 3;
/** 2,048 connections, and what a receiver needs for itself. */
const MOST_DESCRIPTORS = 2_148;

const TURNS = new URL("turns.ts", import.meta.url).href;

/** File descriptors that this process and its tests have open. */
const SPARE_DESCRIPTORS = 500;

async function letPass(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** The longest turn of its event loop since the last call. */
async function longestTurnMs({ child, lines }: ReceiverProcess): Promise<number> {
  const from = lines.length;
  child.kill("SIGWINCH");
  const said = await until(
    () => /longest turn: (\S+) ms/.exec(lines.slice(from).join("\n"))?.[1],
    (ms) => ms !== undefined,
  );
  return Number(said);
}

/** Opens connections, passes each to `speak`, and waits until all are connected. None reads or closes. */
async function connections(url: string, count: number, speak: (socket: Socket) => void): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => open(url));
  await Promise.all(
    sockets.map(async (socket) => {
      socket.on("error", () => undefined);
      await new Promise<void>((resolve) => {
        socket.once("connect", () => resolve()).once("close", () => resolve());
      });
      speak(socket.pause());
    }),
  );
  return sockets;
}

test("no attack from the network keeps honest deliveries out or fills the machine", async () => {
  const receiver = await startProcess({
    environment: {
      DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
      RECEIVER_ROLE: "ingest",
      LOG_LEVEL: "info",
      NODE_OPTIONS: `--import=${TURNS}`,
    },
  });
  const { url } = receiver;
  const pid = receiver.child.pid ?? 0;
  const deliver = async (): Promise<void> => {
    expect((await post(url, newBody())).status).toBe(200);
  };
  await deliver();
  const half = rawRequest(url, { body: Buffer.alloc(1_000_000), signatures: ["t=1,v1=00"] }).subarray(
    0,
    500_000,
  );
  const pipelined = Buffer.concat(
    Array.from({ length: 300 }, () =>
      rawRequest(url, { body: Buffer.from("{}"), signatures: ["t=1,v1=00"] }),
    ),
  );
  const attacks: Record<string, { count: number; speak: (socket: Socket) => void }> = {
    "connections that say nothing": { count: 200, speak: () => undefined },
    "connections refused with 400, which stay": {
      count: 100,
      speak: (socket) => void socket.write("x\r\n\r\n"),
    },
    "headers without end": {
      count: 50,
      speak: (socket) => void socket.write(`POST /webhooks HTTP/1.1\r\nX: ${"x".repeat(20_000)}`),
    },
    "pipelined requests, answers never read": { count: 20, speak: (socket) => void socket.write(pipelined) },
    "bodies that stop halfway": { count: 30, speak: (socket) => void socket.write(half) },
  };
  for (const [name, { count, speak }] of Object.entries(attacks)) {
    let sockets: Socket[] = [];
    await longestTurnMs(receiver);
    const slowestMs = await slowestDuring(async () => {
      sockets = await connections(url, Math.min(count * SIZE, mostDescriptors() - SPARE_DESCRIPTORS), speak);
      await letPass(100 * SIZE);
    }, deliver);
    const turnMs = await longestTurnMs(receiver);
    const { descriptors, peakMegabytes } = usageOf(pid);
    for (const socket of sockets) socket.destroy();
    figure(
      name,
      `${String(sockets.length)} of them: ${String(slowestMs)} ms, longest turn ${turnMs.toFixed(0)} ms of the processor, ${String(peakMegabytes)} MB, ${String(descriptors)} descriptors`,
    );
    expect(turnMs, name).toBeLessThan(LONGEST_TURN_MS * SLOWER);
    expect(slowestMs, name).toBeLessThan(SLOWEST_MS);
    expect(descriptors, name).toBeLessThan(MOST_DESCRIPTORS);
    expect(peakMegabytes, name).toBeLessThan(MOST_MEGABYTES);
  }

  // Connections left by the attacks don't prevent it from exiting.
  const silent = await connections(url, 20, (socket) => void socket.write("POST "));
  const startedAtMs = performance.now();
  receiver.child.kill("SIGTERM");
  expect(await receiver.exited).toEqual({ code: 0, signal: null });
  const endedMs = Math.round(performance.now() - startedAtMs);
  for (const socket of silent) socket.destroy();
  figure("SIGTERM beside silent peers", `${String(endedMs)} ms`);
  expect(endedMs).toBeLessThan(RESPONSE_TIMEOUT_MS);
});
