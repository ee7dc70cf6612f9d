import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBodyReader, type BodyReader } from "../../../receiver/intake/body.ts";
import { newBody } from "../helpers/events.ts";
import { stoppedTimers } from "../helpers/clock.ts";
import { startIntake } from "../helpers/intake.ts";
import { chunkedRequest, open, rawRequest, readAnswer, sendRaw } from "../helpers/raw.ts";

/** Limits on what unknown senders can make us read and keep in memory. */

const KB = 1_024;

/** Sends a body that stops after `sent` of its `announced` bytes, and waits until these have been read. */
async function begin(intake: { url: string }, announced: number, sent: number): Promise<Socket> {
  const socket = open(intake.url);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  socket.write(rawRequest(intake.url, { contentLength: announced }));
  socket.write(Buffer.alloc(sent));
  for (let turn = 0; turn < 3; turn += 1)
    await sendRaw(intake.url, rawRequest(intake.url, { method: "GET", path: "/healthz" }));
  return socket;
}

/** An intake whose clock stands still, however slow the machine is. */
const startPatient = (options: Parameters<typeof startIntake>[0]) =>
  startIntake({ requestTimeout: 120_000, clock: stoppedTimers(), ...options });

const bodyOf = (bytes: number): Buffer => newBody("call.completed", { padding: "x".repeat(bytes) });

describe("when too much arrives at once", () => {
  test("the largest body is dropped, and the new one is accepted", async () => {
    const intake = await startPatient({ maxBodyBytes: 400 * KB, maximumArrivingBytes: 800 * KB });
    // A body refused as too large releases no more room than it had.
    const tooLarge = chunkedRequest(intake.url, bodyOf(420 * KB), 64 * KB);
    expect((await sendRaw(intake.url, tooLarge)).status).toBe(413);
    const slowest = await begin(intake, 400 * KB, 300 * KB);
    const refused = readAnswer(slowest);
    const slower = await begin(intake, 400 * KB, 280 * KB);
    const honest = await sendRaw(intake.url, rawRequest(intake.url, { body: bodyOf(220 * KB) }));
    expect(honest.status).toBe(200);
    expect(await refused).toMatchObject({ status: 503, json: { error: "unavailable" } });
    expect(slower.bytesRead).toBe(0);
  });

  test("a large body is dropped in favour of small ones, even if these started earlier", async () => {
    const intake = await startPatient({ maximumArrivingBytes: 400 * KB });
    const small = [await begin(intake, 60 * KB, 50 * KB), await begin(intake, 60 * KB, 50 * KB)];
    const large = await begin(intake, 500 * KB, 250 * KB);
    const refused = readAnswer(large);
    small.push(await begin(intake, 60 * KB, 55 * KB));
    expect((await refused).status).toBe(503);
    // No answer yet.
    expect(small.map(({ bytesRead }) => bytesRead)).toEqual([0, 0, 0]);
  });

  test("room is released with each body that is complete or cut off", async () => {
    const clock = stoppedTimers();
    const intake = await startPatient({ maximumArrivingBytes: 300 * KB, clock });
    for (let turn = 0; turn < 5; turn += 1) {
      const abandoned = await begin(intake, 200 * KB, 150 * KB);
      abandoned.destroy();
      const body = bodyOf(180 * KB);
      expect((await sendRaw(intake.url, rawRequest(intake.url, { body }))).status).toBe(200);
    }
    expect(intake.stored).toHaveLength(5);
    // The next look at the disk.
    expect(clock.waiting()).toBe(1);
  });
});

test("the limits: 4,096 pieces of any size, 16 bytes a piece beyond them, and of equally large bodies the first is dropped", () => {
  const clock = stoppedTimers();
  const problems = (reader: BodyReader, pieces: number, bytes: number, of = 1): unknown[] => {
    const bodies: unknown[] = Array.from({ length: of });
    const all = bodies.map((_, n) =>
      reader.collect((body) => (bodies[n] = "problem" in body && body.problem)),
    );
    for (const { take } of all) for (let piece = 0; piece < pieces; piece += 1) take(Buffer.alloc(bytes));
    for (const { end } of all) end(true);
    return bodies;
  };
  const reader = createBodyReader({ maxBodyBytes: 1_048_576, clock });
  expect(problems(reader, 4_096, 1)).toEqual([false]);
  expect(problems(reader, 4_097, 16)).toEqual([false]);
  expect(problems(reader, 4_097, 15)).toEqual(["in_pieces"]);
  const small = createBodyReader({ maxBodyBytes: KB, maximumArrivingBytes: 2_047, clock });
  expect(problems(small, 1, KB, 2)).toEqual(["overloaded", false]);
});

describe("a body", () => {
  test("that is incomplete after 10 s is 408, under any timeout of the server", async () => {
    const clock = stoppedTimers();
    const intake = await startPatient({ clock });
    const stalled = await begin(intake, 200, 100);
    const answered = readAnswer(stalled);
    await clock.pass(9_999);
    await sendRaw(intake.url, rawRequest(intake.url, { method: "GET", path: "/healthz" }));
    expect(stalled.bytesRead).toBe(0);
    await clock.pass(1);
    expect(await answered).toMatchObject({ status: 408, json: { error: "request_timeout" } });
  });

  test("in over 4,096 pieces is refused if they have under 16 bytes on average, and else read byte for byte", async () => {
    const intake = await startIntake();
    const body = bodyOf(66 * KB);
    const refused = await sendRaw(intake.url, chunkedRequest(intake.url, body, 15));
    expect(refused).toMatchObject({ status: 400, json: { error: "invalid_request" } });
    expect(refused.headers.get("connection")).toBe("close");
    expect((await sendRaw(intake.url, chunkedRequest(intake.url, body, 17))).status).toBe(200);
    expect(Buffer.from(intake.stored[0]!.body).equals(body)).toBe(true);
  });

  test.for<[string, number, string, readonly (readonly [string, string])[], number]>([
    ["too large by its own word", 413, "body_too_large", [], 1_048_577],
    ["compressed", 415, "unsupported_encoding", [["Content-Encoding", "gzip"]], 100],
    ["too large, and asks first", 413, "body_too_large", [["Expect", "100-continue"]], 1_048_577],
  ])("that is %s is refused before a byte of it came", async ([, status, error, headers, length]) => {
    const intake = await startIntake();
    const answer = await sendRaw(intake.url, rawRequest(intake.url, { contentLength: length, headers }));
    expect(answer).toMatchObject({ status, json: { error } });
    expect(answer.headers.get("connection")).toBe("close");
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  });

  test("that is refused still gets its answer to a client that keeps sending", async () => {
    // Its clock stands still: on a slow machine the connection would be closed while this still sends.
    const intake = await startIntake({ maxBodyBytes: 4 * KB, clock: stoppedTimers() });
    const socket = open(intake.url);
    onTestFinished(() => void socket.destroy());
    const broken: unknown[] = [];
    socket.on("error", (error) => broken.push(error));
    const answered = readAnswer(socket);
    socket.write(rawRequest(intake.url, { contentLength: 4_000 * KB }));
    for (let sent = 0; sent < 40; sent += 1) {
      socket.write(Buffer.alloc(100 * KB));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await answered).status).toBe(413);
    expect(broken).toEqual([]);
  });
});
