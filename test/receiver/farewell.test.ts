import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { newBody } from "./helpers/events.ts";
import { handClock, startIntake } from "./helpers/intake.ts";
import { gone, greeted, healthCheck, knock, open, rawRequest, readAnswer } from "./helpers/raw.ts";
import { signalled, until } from "./helpers/until.ts";

/** No request is broken by the end of the receiver, and the end waits for nobody who says nothing. */

const STEP_MS = 50;

/** An intake that nobody has knocked at for a long time, and what drains it step by step. */
async function quietIntake(options: Parameters<typeof startIntake>[0] = {}) {
  const clock = handClock();
  const intake = await startIntake({ ...options, clock });
  clock.pass(3_600_000);
  let isOver = false;
  /** Begins, and resolves once it waits, or is over. */
  const begin = async (graceMs = 60_000): Promise<void> => {
    void intake.server.drain(graceMs).then(() => (isOver = true));
    await waits();
  };
  const waits = async (): Promise<unknown> => until(() => isOver || clock.sleepers() === 1, Boolean);
  const step = async (ms = STEP_MS): Promise<void> => {
    clock.pass(ms);
    await waits();
  };
  /** How much longer it takes. */
  const restMs = async (): Promise<number> => {
    for (let ms = 0; ; ms += STEP_MS) {
      if (isOver) return ms;
      await step();
    }
  };
  return { ...intake, clock, begin, step, restMs };
}

/** A connection that has sent `bytes`, and is known to be accepted: another that came later was answered. */
async function connected(url: string, bytes?: Buffer): Promise<Socket> {
  const socket = open(url);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  if (bytes) socket.write(bytes);
  (await greeted(url)).destroy();
  return socket.resume();
}

describe("the port", () => {
  test("is shut at once where nobody has knocked for 200 ms, and else when nobody has", async () => {
    const idle = await quietIntake();
    await idle.begin();
    expect(await idle.restMs()).toBe(0);

    const knocked = await quietIntake();
    await knock(knocked.url);
    await knocked.begin();
    expect(await knocked.restMs()).toBe(200);

    const lately = await quietIntake();
    await knock(lately.url);
    lately.clock.pass(199);
    await lately.begin();
    expect(await lately.restMs()).toBe(50);
  });

  test.for([
    { graceMs: 60_000, shutMs: 1_000 },
    { graceMs: 1_500, shutMs: 500 },
    { graceMs: 0, shutMs: 0 },
  ])(
    "is shut after $shutMs ms of $graceMs ms although somebody always knocks",
    async ({ graceMs, shutMs }) => {
      const intake = await quietIntake();
      await knock(intake.url);
      await intake.begin(graceMs);
      let openMs = 0;
      for (; await knock(intake.url); openMs += STEP_MS) await intake.step();
      expect(openMs).toBe(shutMs);
    },
  );

  test("is shut on nobody who waits to be accepted behind others", async () => {
    const intake = await quietIntake();
    const body = newBody();
    // The kernel accepts them in this turn of the event loop, and we one by one in the next ones.
    const sockets = Array.from({ length: 8 }, () => connect(Number(new URL(intake.url).port), "127.0.0.1"));
    for (const socket of sockets) socket.write(rawRequest(intake.url, { body }));
    const answers = Promise.all(sockets.map(readAnswer));
    await intake.begin();
    const over = intake.restMs();
    expect((await answers).map(({ status }) => status)).toEqual(sockets.map(() => 200));
    for (const socket of sockets) socket.destroy();
    await over;
  });

  test("is shut although somebody always waits to be accepted", async () => {
    const intake = await quietIntake();
    const refused = signalled();
    let isOver = false;
    void refused.promise.then(() => (isOver = true));
    // Two for the one that is accepted in each turn of the event loop.
    const flood = (): void => {
      for (const socket of [open(intake.url), open(intake.url)]) {
        socket.once("connect", () => socket.destroy());
        socket.on("error", ({ code }: NodeJS.ErrnoException) => code === "ECONNREFUSED" && refused.give());
      }
      if (!isOver) setImmediate(flood);
    };
    flood();
    await intake.begin(1_500);
    for (let openMs = 0; openMs < 500; openMs += STEP_MS) await intake.step();
    await expect(refused.promise).resolves.toBeUndefined();
    await intake.restMs();
  });

  test("stays open for those who knock while the machine keeps us waiting", async () => {
    const intake = await quietIntake();
    await knock(intake.url);
    await intake.begin();
    await intake.step(10_000);
    expect(await knock(intake.url)).toBe(true);
    // The step in which that was, and 200 ms without a knock.
    expect(await intake.restMs()).toBe(250);
  });
});

describe("a connection", () => {
  const half = (bytes: Buffer): Buffer => bytes.subarray(0, -1);

  test.for<[string, number, (url: string) => Promise<Socket>]>([
    ["that has been answered", 400, async (url) => greeted(url)],
    ["that has said nothing yet", 2_000, async (url) => connected(url)],
    ["in the middle of its headers", 2_000, async (url) => connected(url, half(healthCheck(url)))],
    [
      "in the middle of a body",
      2_000,
      async (url) => connected(url, half(rawRequest(url, { body: newBody() }))),
    ],
    [
      "that has been answered and sends again",
      2_000,
      async (url) => {
        const socket = await greeted(url);
        socket.write(half(healthCheck(url)));
        (await greeted(url)).destroy();
        return socket;
      },
    ],
  ])("%s is given %i ms of silence", async ([, patienceMs, prepare]) => {
    const intake = await quietIntake();
    const socket = await prepare(intake.url);
    intake.clock.pass(200);
    await intake.begin();
    // However long the machine kept us waiting.
    await intake.step(1_000);
    expect(await intake.restMs()).toBe(patienceMs - STEP_MS);
    await gone(socket);
  });

  test("is served, although it sends its request at the last moment", async () => {
    const intake = await quietIntake();
    const socket = await connected(intake.url);
    intake.clock.pass(200);
    await intake.begin();
    for (let silentMs = 0; silentMs < 1_950; silentMs += STEP_MS) await intake.step();
    const answer = readAnswer(socket);
    socket.write(rawRequest(intake.url, { body: newBody() }));
    expect((await answer).status).toBe(200);
    expect(await intake.restMs()).toBe(STEP_MS + 400);
  });

  test("that waits for our answer is cut only when the time is over", async () => {
    const intake = await quietIntake({ accept: () => new Promise(() => undefined) });
    const socket = await connected(intake.url, rawRequest(intake.url, { body: newBody() }));
    intake.clock.pass(200);
    await intake.begin(5_000);
    expect(await intake.restMs()).toBe(5_000);
    await gone(socket);
  });

  test("whose body is on its way may take its time", async () => {
    const intake = await quietIntake();
    const body = newBody();
    const request = rawRequest(intake.url, { body });
    const moving = await connected(intake.url, request.subarray(0, -60));
    const answer = readAnswer(moving);
    intake.clock.pass(200);
    await intake.begin();
    for (let sent = -60; sent < -1; sent += 1) {
      moving.write(request.subarray(sent, sent + 1));
      await intake.step();
    }
    moving.write(request.subarray(-1));
    expect((await answer).json).toEqual({ received: true, duplicate: false });
    expect(intake.stored.map(({ body: stored }) => Buffer.from(stored))).toEqual([body]);
    await intake.restMs();
  });
});

test("clients that come back as soon as they are answered are answered or refused, and none is reset", async () => {
  const intake = await startIntake();
  const bad: string[] = [];
  let served = 0;
  const client = async (): Promise<void> => {
    for (;;) {
      const socket = open(intake.url);
      const came = await new Promise<string>((resolve) => {
        socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(code));
        socket.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1", 9, 12)));
        socket.once("close", () => resolve("closed"));
        socket.write(rawRequest(intake.url, { body: newBody() }));
      });
      socket.destroy();
      if (came === "ECONNREFUSED") return;
      if (came === "200" || came === "503") served += 1;
      else bad.push(came);
    }
  };
  const clients = Array.from({ length: 40 }, client);
  await until(() => served > 200, Boolean);
  intake.health.startDraining();
  await intake.server.drain(15_000);
  await Promise.all(clients);
  expect(bad).toEqual([]);
});
