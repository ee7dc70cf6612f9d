import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { RESPONSE_TIMEOUT_MS } from "../../simulator/domain/limits.ts";
import { wireHeaders } from "../../simulator/domain/attempt-request.ts";
import { createSender } from "../../simulator/sender/sender.ts";
import { loopTurns } from "../helpers/loop-turns.ts";
import { startRawServer } from "../helpers/raw-server.ts";
import { createVirtualWall } from "../helpers/virtual-wall.ts";
import { newBody } from "../receiver/helpers/events.ts";
import { startIntake } from "../receiver/helpers/intake.ts";
import { open, rawRequest, sendRaw } from "../receiver/helpers/raw.ts";

/** Each connection that carries bytes is broken after every byte; the short form skips some. */
const STEP = Number(process.env["BORDERS"] ?? 1) > 1 ? 1 : 23;

/** How a connection breaks: closed, reset, or left open without another byte. */
const BREAKS = ["ended", "reset", "stalled"] as const;
type Break = (typeof BREAKS)[number];

/** After how many of `length` bytes to break: none, all but one, and some between. */
function placesIn(length: number): number[] {
  const places = Array.from({ length: Math.ceil(length / STEP) }, (_, at) => at * STEP);
  return [...new Set([...places, length - 1])];
}

function sendPart(socket: Socket, bytes: Buffer, how: Break): void {
  // Also without a byte: the connection must exist before it can break.
  socket.write(bytes, () => {
    if (how === "reset") socket.resetAndDestroy();
    else if (how === "ended") socket.end();
  });
}

describe("a webhook on its way into the receiver", () => {
  /** The status of the answer, if there was one before the connection was gone. */
  async function answerTo(url: string, bytes: Buffer, how: Break): Promise<number | undefined> {
    const socket = open(url);
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1"))).on("error", () => undefined);
    sendPart(socket, bytes, how);
    await new Promise((resolve) => socket.once("close", resolve));
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(received) ?? [];
    return status === undefined ? undefined : Number(status);
  }

  test.each<[Break, (number | undefined)[]]>([
    ["ended", [undefined, 400]],
    ["reset", [undefined]],
    ["stalled", [408]],
  ])("that is %s after any byte is not stored, and the next one is", async (how, statuses) => {
    // Only a stalled client waits for the time-out: on a busy machine the others must not reach it.
    const timeouts = how === "stalled" ? { headersTimeout: 50, requestTimeout: 50 } : {};
    const { url, stored, logLines } = await startIntake(timeouts);
    const request = rawRequest(url, { body: newBody() });
    const answers = await Promise.all(
      placesIn(request.length).map(async (place) => answerTo(url, request.subarray(0, place), how)),
    );
    expect(answers.filter((status) => !statuses.includes(status))).toEqual([]);
    expect(stored).toEqual([]);
    expect((await sendRaw(url, request)).status).toBe(200);
    expect(stored).toHaveLength(1);
    expect(logLines.filter((line) => line.includes("a bug"))).toEqual([]);
  });
});

describe("a receiver's answer to the simulator", () => {
  const HEAD = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n";
  const ANSWER = Buffer.from(`${HEAD}{"received":true}`);

  const decisive = { headers: HEAD.length, full_body: ANSWER.length };

  /** The outcome of an attempt whose answer breaks. The clock stands still except for the deadline. */
  async function attempt(place: number, how: Break, answerMeans: "headers" | "full_body") {
    const wall = createVirtualWall();
    const begun = Promise.withResolvers<void>();
    const server = await startRawServer((socket) => {
      sendPart(socket, ANSWER.subarray(0, place), how);
      begun.resolve();
    });
    const { url } = server;
    const body = Buffer.from("{}");
    const sent = createSender({ wall, allowedHosts: [] })({
      url,
      headers: wireHeaders({ url, signature: "t=1,v1=00", body }),
      body,
      answerMeans,
      faults: new Set(),
      signal: new AbortController().signal,
    });
    await begun.promise;
    if (how === "stalled") {
      await loopTurns(3);
      wall.pass(RESPONSE_TIMEOUT_MS);
    }
    const { outcome, durationMs } = await sent;
    await server.close();
    return { word: "status" in outcome ? outcome.status : outcome.error, durationMs };
  }

  test.each(["headers", "full_body"] as const)(
    "that breaks off after any byte is a failure until the deciding part (%s) has arrived",
    async (answerMeans) => {
      for (const place of [...placesIn(ANSWER.length), HEAD.length - 1, HEAD.length, ANSWER.length]) {
        const isThere = place >= decisive[answerMeans];
        const said = `after ${String(place)}`;
        expect((await attempt(place, "ended", answerMeans)).word, said).toBe(isThere ? 200 : "closed");
        // A reset may discard bytes that have already arrived.
        expect(isThere ? [200, "reset"] : ["reset"], said).toContain(
          (await attempt(place, "reset", answerMeans)).word,
        );
        const stalled = await attempt(place, "stalled", answerMeans);
        expect(stalled.word, said).toBe(isThere ? 200 : "timeout");
        expect(stalled.durationMs, said).toBe(isThere ? 0 : RESPONSE_TIMEOUT_MS);
      }
    },
  );
});
