import { ChildProcess, fork } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createLog } from "../../receiver/operations/log.ts";
import { startSupervisor } from "../../receiver/work/supervisor.ts";
import { standingClock } from "./helpers/clock.ts";
import { until } from "./helpers/until.ts";

/** The process of the handlers is kept running, whatever becomes of it. */

type Child = ChildProcess & { says: (message: unknown) => void; ends: (code: number | null) => void };

/** A process that does what the test says. */
function standIn(): Child {
  const child = Object.assign(new ChildProcess(), {
    pid: 1,
    exitCode: null,
    signalCode: null,
    connected: true,
    sent: [] as unknown[],
    killed: false,
    says: (message: unknown) => void child.emit("message", message),
    ends: (code: number | null) => {
      Object.assign(child, { exitCode: code ?? 1, connected: false });
      child.emit("exit", code, null);
      child.emit("close", code, null);
    },
  });
  Object.assign(child, {
    send: (message: unknown) => child.sent.push(message) > 0,
    kill: (signal: string) => {
      child.killed = true;
      queueMicrotask(() => {
        if (child.exitCode === null) child.ends(null);
      });
      return signal === "SIGKILL";
    },
  });
  return child;
}

function setUp(
  options: Partial<Pick<Parameters<typeof startSupervisor>[0], "fork" | "inspect" | "handlerTimeoutMs">> = {},
) {
  const clock = standingClock();
  const children: Child[] = [];
  const deaths: (string | undefined)[] = [];
  const logLines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => void logLines.push(line) } });
  const supervisor = startSupervisor({
    environment: {},
    handlerTimeoutMs: 60_000,
    memoryMegabytes: 512,
    clock,
    log,
    onReport: () => undefined,
    onDeath: (id) => void deaths.push(id),
    fork: () => {
      const child = standIn();
      children.push(child);
      return child;
    },
    ...options,
  });
  const started = (workerId: string): void => children.at(-1)?.says({ kind: "started", workerId });
  const beat = (): void => children.at(-1)?.says({ kind: "alive", handling: [] });
  return { clock, children, deaths, logLines, supervisor, started, beat };
}

describe("a process that cannot be started", () => {
  test("for want of its program, is tried again", async () => {
    let forks = 0;
    const { clock, deaths, logLines, supervisor } = setUp({
      fork: (file, options) => {
        forks += 1;
        return fork(file, { ...options, execPath: "/nowhere/node" });
      },
    });
    await until(
      () => deaths,
      ({ length }) => length === 1,
    );
    expect(logLines.join("")).toContain("ENOENT");
    await clock.pass(99);
    expect(forks).toBe(1);
    await clock.pass(1);
    expect(forks).toBe(2);
    await supervisor.stop(0);
  });

  test("for want of memory, takes nobody along and is tried again", async () => {
    let forks = 0;
    const { clock, deaths, supervisor } = setUp({
      fork: () => {
        forks += 1;
        throw Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
      },
    });
    expect({ forks, deaths, alive: supervisor.alive() }).toEqual({
      forks: 1,
      deaths: [undefined],
      alive: false,
    });
    await clock.pass(100);
    expect(forks).toBe(2);
    await supervisor.stop(0);
    await clock.pass(60_000);
    expect(forks).toBe(2);
  });
});

describe("a process that dies", () => {
  test("is followed by the next after 0.1 s, twice as long each time, ten seconds at most", async () => {
    const { clock, children } = setUp();
    const waits: number[] = [];
    for (let death = 0; death < 9; death += 1) {
      const before = children.length;
      children.at(-1)?.ends(1);
      let waitedMs = 0;
      while (children.length === before) {
        await clock.pass(100);
        waitedMs += 100;
      }
      waits.push(waitedMs);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  });

  test("has its claims released by its name, and the next one begins anew", async () => {
    const { clock, children, deaths, started } = setUp();
    started("one");
    children.at(-1)?.ends(1);
    await clock.pass(100);
    // Before it has said its own name, it has none.
    children.at(-1)?.ends(1);
    await clock.pass(200);
    started("three");
    children.at(-1)?.ends(0);
    expect(deaths).toEqual(["one", undefined, "three"]);
    await clock.pass(100);
    expect(children).toHaveLength(4);
  });

  test("is named by what it had said, also when that is read after its end", async () => {
    const { clock, children, deaths, started } = setUp();
    const [child] = children;
    Object.assign(child!, { exitCode: 1, connected: false }).emit("exit", 1, null);
    await clock.pass(10_000);
    expect({ deaths, started: children.length }).toEqual({ deaths: [], started: 1 });
    started("one");
    child!.emit("close", 1, null);
    expect(deaths).toEqual(["one"]);
    await clock.pass(100);
    expect(children).toHaveLength(2);
  });

  test("is not followed once the receiver stops", async () => {
    const { clock, children, supervisor } = setUp();
    children.at(-1)?.ends(1);
    await supervisor.stop(0);
    await clock.pass(60_000);
    expect(children).toHaveLength(1);
  });
});

describe("a process that is silent", () => {
  test("is alive from its first word on, until it has said nothing for five seconds", async () => {
    const { clock, supervisor, started, beat } = setUp();
    expect(supervisor.alive()).toBe(false);
    started("one");
    await clock.pass(4_999);
    expect(supervisor.alive()).toBe(true);
    await clock.pass(1);
    expect(supervisor.alive()).toBe(false);
    beat();
    expect(supervisor.alive()).toBe(true);
  });

  test("is ended when it has been so for five seconds beyond a handler's time", async () => {
    const { clock, children, deaths, started, beat } = setUp();
    started("one");
    await clock.pass(30_000);
    beat();
    await clock.pass(65_000);
    expect(deaths).toEqual([]);
    await clock.pass(1_000);
    expect(deaths).toEqual(["one"]);
    await clock.pass(100);
    expect(children).toHaveLength(2);
  });

  test("is given a minute to start, also where its handlers have but a second", async () => {
    const { clock, deaths, started } = setUp({ handlerTimeoutMs: 1_000 });
    await clock.pass(60_000);
    expect(deaths).toEqual([]);
    await clock.pass(1_000);
    expect(deaths).toEqual([undefined]);
    await clock.pass(100);
    started("two");
    await clock.pass(6_000);
    expect(deaths).toHaveLength(1);
    await clock.pass(1_000);
    expect(deaths).toEqual([undefined, "two"]);
  });

  test("is left alone while a debugger may be stopping it", async () => {
    const { clock, deaths, started } = setUp({ inspect: "127.0.0.1:9229" });
    started("one");
    await clock.pass(3_600_000);
    expect(deaths).toEqual([]);
  });

  test("does not get time from whatever else sends messages", async () => {
    const { clock, children, deaths, started } = setUp();
    started("one");
    for (let second = 0; second < 70; second += 1) {
      children[0]?.says("ready");
      children[0]?.says({ kind: "alive", handling: "none" });
      await clock.pass(1_000);
    }
    expect(deaths).toEqual(["one"]);
  });
});

describe("a process that is to stop", () => {
  test("is told for how long it may go on, and ended a second after that", async () => {
    const { clock, children, supervisor, deaths } = setUp();
    const [child] = children;
    const stopped = supervisor.stop(3_000);
    expect(child).toMatchObject({ sent: [{ kind: "drain", graceMs: 3_000 }] });
    await clock.pass(3_999);
    expect(child).toMatchObject({ killed: false });
    await clock.pass(1);
    await stopped;
    expect(child).toMatchObject({ killed: true });
    expect(deaths).toEqual([]);
  });

  test("holds nobody up once it has ended", async () => {
    const { clock, children, supervisor } = setUp();
    const stopped = supervisor.stop(3_600_000);
    children[0]?.ends(0);
    await clock.pass(0);
    await stopped;
    expect(children).toHaveLength(1);
  });
});
