import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import type { AcceptResult } from "../../receiver/engine.ts";
import { newBody } from "./helpers/events.ts";
import { handClock, startIntake } from "./helpers/intake.ts";
import { gone, greeted, healthCheck, open, rawRequest, readAnswer, sendRaw } from "./helpers/raw.ts";
import { signalled, until } from "./helpers/until.ts";

/** Nobody on the network can use up our connections, our memory or our time with them. */

/** The clock of the machine, which can be set forward. */
function laterClock() {
  let laterMs = 0;
  const monotonicMs = (): number => systemClock.monotonicMs() + laterMs;
  return { ...systemClock, monotonicMs, pass: (ms: number) => void (laterMs += ms) };
}

/** A receiver for one connection, whose events wait for `commit`. */
async function startBusy(commit: Promise<AcceptResult>) {
  const accepted = signalled();
  const clock = laterClock();
  const intake = await startIntake({
    clock,
    maximumConnections: 1,
    accept: async () => {
      accepted.give();
      return commit;
    },
  });
  return { intake, accepted, clock };
}

describe("connections", () => {
  test("at the limit, the one that has been idle for the longest gives way to a new one", async () => {
    const clock = handClock();
    const intake = await startIntake({ clock, maximumConnections: 3 });
    const [first, second, third] = [
      await greeted(intake.url),
      await greeted(intake.url),
      await greeted(intake.url),
    ];
    clock.pass(10);
    // The first was heard of lately: now the second is the one that is idle for the longest.
    first.write(healthCheck(intake.url));
    await readAnswer(first);
    const newcomer = await greeted(intake.url);
    await gone(second);
    expect([first, third, newcomer].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  test("of one address are bounded more closely, and never cost another address its own", async () => {
    const intake = await startIntake({ maximumConnections: 4, maximumPerAddress: 2 });
    const other = await greeted(intake.url, "127.0.0.2");
    const mine = await greeted(intake.url);
    await greeted(intake.url);
    await greeted(intake.url);
    await gone(mine);
    expect(other.destroyed).toBe(false);
  });

  test("that are over make room for others of their address", async () => {
    const intake = await startIntake({ maximumPerAddress: 3 });
    const kept = await greeted(intake.url);
    for (let count = 0; count < 8; count += 1) {
      const other = await greeted(intake.url);
      other.end();
      await gone(other);
    }
    expect(kept.destroyed).toBe(false);
    kept.write(healthCheck(intake.url));
    expect((await readAnswer(kept)).status).toBe(200);
  });

  test("that were cut, refused or closed are counted no more, of one address as in all", async () => {
    for (const limits of [{ maximumPerAddress: 3 }, { maximumConnections: 3 }]) {
      const intake = await startIntake(limits);
      const opened: Socket[] = [];
      for (let count = 0; count < 9; count += 1) opened.push(await greeted(intake.url));
      for (const cut of opened.slice(0, 6)) await gone(cut);
      for (const left of opened.slice(6)) {
        expect(left.destroyed).toBe(false);
        left.end();
        await gone(left);
      }
      const again = [await greeted(intake.url), await greeted(intake.url), await greeted(intake.url)];
      for (const one of again) {
        one.write(healthCheck(intake.url));
        expect((await readAnswer(one)).status).toBe(200);
      }
    }
  });

  test("that are slow to send their request give way where none is idle", async () => {
    const intake = await startIntake({ maximumConnections: 1 });
    const slow = await greeted(intake.url);
    slow.write(rawRequest(intake.url, { body: newBody() }).subarray(0, -1));
    const newcomer = await greeted(intake.url);
    await gone(slow);
    expect(newcomer.destroyed).toBe(false);
  });

  test("that send their request stay where another is idle, however short a time", async () => {
    const intake = await startIntake({ maximumConnections: 2 });
    const sending = await greeted(intake.url);
    const request = rawRequest(intake.url, { body: newBody() });
    sending.write(request.subarray(0, -1));
    const idle = await greeted(intake.url);
    await greeted(intake.url);
    await gone(idle);
    const answered = readAnswer(sending);
    sending.write(request.subarray(-1));
    expect((await answered).status).toBe(200);
  });

  test("that wait for our answer give way after 20 s only: until then it is the newcomer who does", async () => {
    const commit = signalled<AcceptResult>();
    const { intake, accepted, clock } = await startBusy(commit.promise);
    const waiting = await greeted(intake.url);
    clock.pass(30_000);
    const answered = readAnswer(waiting);
    waiting.write(rawRequest(intake.url, { body: newBody() }));
    await accepted.promise;
    clock.pass(15_000);
    const newcomer = open(intake.url);
    newcomer.on("error", () => undefined);
    await gone(newcomer);
    commit.give({ ok: true, acceptances: [{ duplicate: false }] });
    expect((await answered).status).toBe(200);
  });

  test("whose answer nobody takes give way after 20 s, whatever they send meanwhile", async () => {
    const { intake, accepted, clock } = await startBusy(new Promise(() => undefined));
    const deaf = open(intake.url);
    deaf.on("error", () => undefined);
    onTestFinished(() => void deaf.destroy());
    deaf.write(rawRequest(intake.url, { body: newBody() }));
    await accepted.promise;
    clock.pass(20_001);
    deaf.write("P");
    const newcomer = await greeted(intake.url);
    await gone(deaf);
    expect(newcomer.destroyed).toBe(false);
  });

  test.for<[string, number, (url: string) => Buffer]>([
    ["not HTTP", 400, () => Buffer.from("\u0016\u0003\u0001\r\n\r\n")],
    ["headers without end", 431, (url) => rawRequest(url, { headers: [["X-Padding", "x".repeat(20_000)]] })],
    ["a body that is too large", 413, (url) => rawRequest(url, { contentLength: 2_000_000 })],
    ["a method for proxies", 405, () => Buffer.from("CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n")],
  ])("that sent %s are gone soon after their answer, whatever the peer does", async ([, status, bytes]) => {
    const clock = handClock();
    const intake = await startIntake({ clock });
    // A peer that never ends its own side.
    const socket = connect({
      port: Number(new URL(intake.url).port),
      host: "127.0.0.1",
      allowHalfOpen: true,
    });
    onTestFinished(() => void socket.destroy());
    const failed = once(socket, "error");
    socket.write(bytes(intake.url));
    expect((await readAnswer(socket)).status).toBe(status);
    await until(() => socket.readableEnded, Boolean);
    clock.pass(500);
    // Nobody takes what is sent now: the kernel says so at the next word or the one after.
    const talking = setInterval(() => socket.write("x"), 1);
    await failed;
    clearInterval(talking);
  });
});

describe("pipelined requests", () => {
  test("are answered in order, as many as anybody has reason to send", async () => {
    const intake = await startIntake();
    const socket = open(intake.url);
    onTestFinished(() => void socket.destroy());
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    const bodies = Array.from({ length: 8 }, () => newBody());
    socket.write(Buffer.concat(bodies.map((body) => rawRequest(intake.url, { body }))));
    await until(
      () => received.split("HTTP/1.1 200").length - 1,
      (answers) => answers === 8,
    );
    expect(intake.stored.map(({ body }) => Buffer.from(body))).toEqual(bodies);
  });

  test("beyond that are not looked at, which the last answer says; the first are answered", async () => {
    const begun = signalled();
    const commit = signalled<AcceptResult>();
    const intake = await startIntake({
      accept: async () => {
        begun.give();
        return commit.promise;
      },
    });
    const socket = open(intake.url);
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    socket.write(
      Buffer.concat(Array.from({ length: 40 }, () => rawRequest(intake.url, { body: newBody() }))),
    );
    await begun.promise;
    commit.give({ ok: true, acceptances: Array.from({ length: 8 }, () => ({ duplicate: false })) });
    await gone(socket);
    const answers = received.split("HTTP/1.1 200").slice(1);
    expect(answers.map((answer) => answer.includes("Connection: close"))).toEqual([
      ...Array<boolean>(7).fill(false),
      true,
    ]);
  });

  test("are not looked at behind a closing answer, though it waits for an earlier one", async () => {
    const accepted = signalled();
    const commit = signalled<AcceptResult>();
    const intake = await startIntake({
      accept: async () => {
        accepted.give();
        return commit.promise;
      },
    });
    const socket = open(intake.url);
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    const request = (): Buffer => rawRequest(intake.url, { body: newBody() });
    const answered = (): number => intake.logLines.filter((line) => line.includes("answered")).length;
    socket.write(request());
    await accepted.promise;
    intake.health.startDraining();
    socket.write(request());
    await until(answered, (lines) => lines === 1);
    socket.write(request());
    // What was sent before it has been read when this is answered.
    await sendRaw(intake.url, healthCheck(intake.url));
    commit.give({ ok: true, acceptances: [{ duplicate: false }] });
    await gone(socket);
    expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200"]);
    expect(answered()).toBe(2);
  });

  test("that are followed by garbage get their own answers, and nobody else's", async () => {
    const commit = signalled<AcceptResult>();
    const intake = await startIntake({ accept: async () => commit.promise });
    const socket = open(intake.url);
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
    socket.write(
      Buffer.concat([rawRequest(intake.url, { body: newBody() }), Buffer.from("garbage\r\n\r\n")]),
    );
    await greeted(intake.url);
    commit.give({ ok: true, acceptances: [{ duplicate: false }] });
    await gone(socket);
    expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200"]);
  });
});
