import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { systemTime, type WallTime } from "../../../simulator/domain/wall-time.ts";
import { startRawServer } from "../../helpers/raw-server.ts";
import { leavesNothingOpen, OK, sendTo, wordOf } from "./harness.ts";

leavesNothingOpen();

describe("faults on the wire", () => {
  test.each([
    ["drop-answer", "closed"],
    ["time-out", "timeout"],
  ] as const)("%s: the receiver has answered, the service does not know", async (fault, error) => {
    const server = await startRawServer((socket) => socket.write(OK));
    const result = await sendTo(server.url, { faults: new Set([fault]) });
    expect(result.outcome).toMatchObject({ error, detail: expect.stringContaining(fault) });
    await server.close();
  });

  test("slow-body: the body comes in 30 steps over 3 s, and is whole", async () => {
    const chunks: string[] = [];
    const take = (socket: Socket) =>
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk.toString());
        if (chunks.join("").endsWith('"end":1}')) socket.write(OK);
      });
    const server = await startRawServer(take, { onConnect: true });
    const waits: number[] = [];
    const wall: WallTime = {
      ...systemTime,
      after(delayMs, action) {
        if (delayMs < 1_000) {
          waits.push(delayMs);
          setImmediate(action);
        }
        return () => {};
      },
    };
    const body = Buffer.from(`{"text":"${"x".repeat(500)}","end":1}`);
    const result = await sendTo(server.url, { wall, body, faults: new Set(["slow-body"]) });
    expect(result.outcome).toEqual({ status: 200 });
    expect(waits.length).toBeGreaterThanOrEqual(29);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(3_000);
    expect(chunks.join("").endsWith(body.toString())).toBe(true);
    await server.close();
  });

  test("reset-mid-body: the receiver sees half a body and a reset, the service a broken connection", async () => {
    let bytes = "";
    let error: NodeJS.ErrnoException | undefined;
    const gone = Promise.withResolvers<void>();
    const take = (socket: Socket) =>
      socket
        .on("data", (chunk: Buffer) => (bytes += chunk.toString()))
        .on("error", (problem) => (error = problem))
        .on("close", gone.resolve);
    const server = await startRawServer(take, { onConnect: true });
    const body = Buffer.from("a".repeat(100));
    const result = await sendTo(server.url, { body, faults: new Set(["reset-mid-body"]) });
    expect(await wordOf(result)).toBe("closed");
    await gone.promise;
    expect(bytes).toMatch(/content-length: 100\r\n/i);
    expect(bytes.endsWith(`\r\n\r\n${"a".repeat(50)}`)).toBe(true);
    expect(error?.code).toBe("ECONNRESET");
    await server.close();
  });
});
