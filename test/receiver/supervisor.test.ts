import { ChildProcess, fork } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createLog } from "../../receiver/operations/log.ts";
import { startSupervisor } from "../../receiver/work/supervisor.ts";
import { standingClock } from "./helpers/clock.ts";
import { until } from "./helpers/until.ts";

/** The process of the handlers is kept running, whatever becomes of it. */

type Child = ChildProcess & {
  workerId: string;
  sent: Record<string, unknown>[];
  says: (message: unknown) => void;
  ends: (code: number | null) => void;
};

/** A process that does what the test says. */
function standIn(assignment: readonly string[]): Child {
  const { workerId } = JSON.parse(assignment[0] ?? "") as { workerId: string };
  const child = Object.assign(new ChildProcess(), {
    pid: 1,
    workerId,
    exitCode: null,
    signalCode: null,
    connected: true,
    sent: [] as Record<string, unknown>[],
    killed: false,
    says: (message: unknown) => void child.emit("message", message),
    ends: (code: number | null) => {
      Object.assign(child, { exitCode: code ?? 1, connected: false });
      child.emit("exit", code, null);
      child.emit("close", code, null);
    },
  });
  Object.assign(child, {
    send: (message: Record<string, unknown>) => child.sent.push(message) > 0,
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

function setUp(options: Partial<Pick<Parameters<typeof startSupervisor>[0], "fork" | "inspect">> = {}) {
  const clock = standingClock();
  const children: Child[] = [];
  let deaths = 0;
  const logLines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => void logLines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const followed: string[][] = [];
  const supervisor = startSupervisor({
    environment: {},
    memoryMegabytes: 512,
    clock,
    log,
    onEnded: () => undefined,
    onDeath: () => (deaths += 1),
    onFiles: (files) => void followed.push([...files]),
    fork: (_, assignment) => {
      const child = standIn(assignment);
      children.push(child);
      return child;
    },
    ...options,
  });
  const last = (): Child => children.at(-1)!;
  const ready = (child = last()): void => child.says({ kind: "ready", files: ["/handlers/index.ts"] });
  const started = (child = last()): void => {
    ready(child);
    child.says({ kind: "started" });
  };
  const beat = (memoryBytes = 0): void => last().says({ kind: "alive", ended: [], memoryBytes });
  return {
    clock,
    children,
    deaths: () => deaths,
    said: () => logLines.map(({ msg, problem }) => problem ?? msg),
    followed,
    supervisor,
    last,
    ready,
    started,
    beat,
  };
}

const begin = (...predecessors: string[]) => ({ kind: "begin", predecessors });

describe("a process that cannot be started", () => {
  test("for want of its program, is tried again", async () => {
    let forks = 0;
    const { clock, deaths, supervisor } = setUp({
      fork: (file, assignment, options) => {
        forks += 1;
        return fork(file, assignment, { ...options, execPath: "/nowhere/node" });
      },
    });
    await until(deaths, (count) => count === 1);
    await clock.pass(99);
    expect(forks).toBe(1);
    await clock.pass(1);
    expect(forks).toBe(2);
    await supervisor.stop(0);
  });

  test("for want of memory, takes nobody along and is tried again", async () => {
    let forks = 0;
    const { clock, supervisor } = setUp({
      fork: () => {
        forks += 1;
        throw Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
      },
    });
    expect({ forks, alive: supervisor.alive() }).toEqual({ forks: 1, alive: false });
    await clock.pass(100);
    expect(forks).toBe(2);
    await supervisor.stop(0);
    await clock.pass(60_000);
    expect(forks).toBe(2);
  });

  test("for what is wrong with its handlers, says so once, and is tried again ever less often", async () => {
    const { clock, children, last, said, supervisor } = setUp();
    const problem = "SyntaxError: Unexpected token (receiver/handlers/index.ts:3)";
    for (let time = 0; time < 8; time += 1) {
      last().says({ kind: "broken", problem, files: [] });
      last().ends(78);
      await clock.pass(10_000);
    }
    expect(said()).toEqual([problem]);
    expect(children).toHaveLength(9);
    last().says({ kind: "broken", problem: "another", files: [] });
    last().ends(78);
    expect(said()).toEqual([problem, "another"]);
    expect(supervisor.alive()).toBe(false);
    const before = children.length;
    await clock.pass(9_999);
    expect(children).toHaveLength(before);
    await clock.pass(1);
    expect(children).toHaveLength(before + 1);
  });
});

describe("a process that dies", () => {
  test("before it has done anything is followed after 0.1 s, twice as long each time, ten seconds at most", async () => {
    const { clock, children, started, last } = setUp();
    const waits: number[] = [];
    for (let death = 0; death < 9; death += 1) {
      const before = children.length;
      started();
      last().ends(1);
      let waitedMs = 0;
      while (children.length === before) {
        await clock.pass(100);
        waitedMs += 100;
      }
      waits.push(waitedMs);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  });

  test.for<[string, (bench: ReturnType<typeof setUp>) => Promise<void>]>([
    [
      "after it has handled something",
      async ({ last }) =>
        last().says({
          kind: "alive",
          memoryBytes: 0,
          ended: [{ handler: "pos", type: "order.created", outcome: "done", durationMs: 1 }],
        }),
    ],
    [
      "after it has lived for five seconds",
      async ({ clock, beat }) => {
        await clock.pass(5_000);
        beat();
      },
    ],
  ])("%s is followed after 0.1 s again", async ([, live]) => {
    const bench = setUp();
    for (let death = 0; death < 3; death += 1) {
      bench.last().ends(1);
      await bench.clock.pass(10_000);
    }
    bench.started();
    await live(bench);
    const before = bench.children.length;
    bench.last().ends(1);
    await bench.clock.pass(100);
    expect(bench.children).toHaveLength(before + 1);
  });

  test("is named to the next one, until one has begun that knows of it", async () => {
    const { clock, children, ready, started, last } = setUp();
    started();
    last().ends(1);
    await clock.pass(100);
    ready();
    // It dies before it has taken back what the first one held.
    last().ends(1);
    await clock.pass(200);
    // One that never began holds nothing.
    last().ends(1);
    await clock.pass(400);
    started();
    const [first, second, , fourth] = children;
    expect(first?.sent).toEqual([begin()]);
    expect(second?.sent).toEqual([begin(first!.workerId)]);
    expect(fourth?.sent).toEqual([begin(first!.workerId, second!.workerId)]);
    last().ends(1);
    await clock.pass(800);
    ready();
    expect(last().sent).toEqual([begin(fourth!.workerId)]);
    expect(new Set(children.map(({ workerId }) => workerId)).size).toBe(children.length);
  });

  test("is not followed once the receiver stops", async () => {
    const { clock, children, supervisor, last } = setUp();
    last().ends(1);
    await supervisor.stop(0);
    await clock.pass(60_000);
    expect(children).toHaveLength(1);
  });
});

describe("a process that is silent", () => {
  test("is alive from its start on, until it has said nothing for five seconds", async () => {
    const { clock, supervisor, ready, last, beat } = setUp();
    ready();
    expect(supervisor.alive()).toBe(false);
    last().says({ kind: "started" });
    await clock.pass(4_999);
    expect(supervisor.alive()).toBe(true);
    await clock.pass(1);
    expect(supervisor.alive()).toBe(false);
    beat();
    expect(supervisor.alive()).toBe(true);
  });

  test("is ended after five seconds, however long handlers may take", async () => {
    const { clock, children, deaths, started, beat } = setUp();
    started();
    await clock.pass(4_000);
    beat();
    await clock.pass(5_000);
    expect(deaths()).toBe(0);
    await clock.pass(1_000);
    expect(deaths()).toBe(1);
    await clock.pass(100);
    expect(children).toHaveLength(2);
  });

  test("is given a minute to start", async () => {
    const { clock, deaths } = setUp();
    await clock.pass(60_000);
    expect(deaths()).toBe(0);
    await clock.pass(1_000);
    expect(deaths()).toBe(1);
  });

  test("is left alone while a debugger may be stopping it", async () => {
    const { clock, deaths, started } = setUp({ inspect: "127.0.0.1:9229" });
    started();
    await clock.pass(3_600_000);
    expect(deaths()).toBe(0);
  });

  test("does not get time from whatever else sends messages", async () => {
    const { clock, children, deaths, started } = setUp();
    started();
    for (let second = 0; second < 10; second += 1) {
      children[0]?.says("ready");
      children[0]?.says({ kind: "alive", ended: "none" });
      await clock.pass(1_000);
    }
    expect(deaths()).toBe(1);
  });
});

test("a process whose handlers hold more memory than they may is ended, buffers included", async () => {
  const { deaths, started, beat, clock, said } = setUp();
  started();
  beat(512 * 1_048_576);
  await clock.pass(0);
  expect(deaths()).toBe(0);
  beat(512 * 1_048_576 + 1);
  await clock.pass(0);
  expect(deaths()).toBe(1);
  expect(said()[0]).toContain("HANDLER_MEMORY_MEGABYTES");
});

describe("new events", () => {
  test("wake the process at once, and of many that come together only the first and the last do", async () => {
    const { clock, supervisor, started, last } = setUp();
    supervisor.wake();
    expect(last().sent).toEqual([]);
    started();
    const wakes = (): number => last().sent.filter(({ kind }) => kind === "wake").length;
    for (let event = 0; event < 100; event += 1) supervisor.wake();
    expect(wakes()).toBe(1);
    await clock.pass(5);
    expect(wakes()).toBe(2);
    await clock.pass(5);
    expect(wakes()).toBe(2);
    supervisor.wake();
    expect(wakes()).toBe(3);
  });
});

describe("handlers that have changed", () => {
  test("take over once they are loaded, when those from before have drained; that is no death", async () => {
    const { children, supervisor, ready, started, deaths, followed } = setUp();
    started();
    supervisor.reload();
    const [old, fresh] = children;
    expect(old?.sent).toEqual([begin()]);
    ready(fresh);
    expect(old?.sent.at(-1)).toMatchObject({ kind: "drain" });
    expect(fresh?.sent).toEqual([]);
    expect(supervisor.alive()).toBe(true);
    old?.ends(0);
    expect(fresh?.sent).toEqual([begin(old!.workerId)]);
    expect({ deaths: deaths(), alive: supervisor.alive() }).toEqual({ deaths: 0, alive: true });
    expect(followed).toHaveLength(2);
  });

  test("that are broken are told of, and those from before go on", async () => {
    const { children, supervisor, started, said, deaths, clock, followed } = setUp();
    started();
    supervisor.reload();
    const [old, fresh] = children;
    fresh?.says({ kind: "broken", problem: "SyntaxError (index.ts:3)", files: ["/handlers/index.ts"] });
    fresh?.ends(78);
    await clock.pass(4_000);
    expect({ old: old?.sent, deaths: deaths(), children: children.length }).toEqual({
      old: [begin()],
      deaths: 0,
      children: 2,
    });
    expect(said()).toEqual(["SyntaxError (index.ts:3)"]);
    // It is watched on, or its correction would not be seen.
    expect(followed.at(-1)).toEqual(["/handlers/index.ts"]);
    supervisor.reload();
    children.at(-1)?.says({ kind: "broken", problem: "the database is away", files: [] });
    expect(followed.at(-1)).toEqual(["/handlers/index.ts"]);
    children.at(-1)?.ends(78);
    old?.ends(1);
    await clock.pass(100);
    expect(children).toHaveLength(4);
  });

  test("again, while they are loaded, are loaded again", async () => {
    const { children, supervisor, started, ready, clock } = setUp();
    started();
    supervisor.reload();
    supervisor.reload();
    await clock.pass(0);
    const [old, given, fresh] = children;
    expect(given).toMatchObject({ killed: true });
    ready(fresh);
    old?.ends(0);
    expect(fresh?.sent).toEqual([begin(old!.workerId)]);
  });

  test("that never come to an end of loading are ended, and those from before go on", async () => {
    const { children, supervisor, started, beat, clock, said, deaths } = setUp();
    started();
    supervisor.reload();
    const [old, fresh] = children;
    for (let second = 0; second < 120; second += 1) {
      await clock.pass(1_000);
      if (fresh?.killed === true) break;
      old?.says({ kind: "alive", ended: [], memoryBytes: 0 });
    }
    beat();
    expect({ fresh: fresh?.killed, old: old?.killed, deaths: deaths() }).toEqual({
      fresh: true,
      old: false,
      deaths: 0,
    });
    expect(said()).toContain("the handlers' process does not start; ending it");
  });

  test("are tried at once where nothing runs, also long after the last that could not be used", async () => {
    const { children, supervisor, last, clock } = setUp();
    for (let time = 0; time < 8; time += 1) {
      last().says({ kind: "broken", problem: "x", files: [] });
      last().ends(78);
      if (time < 7) await clock.pass(10_000);
    }
    const before = children.length;
    supervisor.reload();
    expect(children).toHaveLength(before + 1);
    await clock.pass(11_000);
    expect(children).toHaveLength(before + 1);
    last().ends(1);
    await clock.pass(100);
    expect(children).toHaveLength(before + 2);
  });

  test("begin at once where those from before die meanwhile", async () => {
    const { children, supervisor, started, ready, deaths } = setUp();
    started();
    supervisor.reload();
    const [old, fresh] = children;
    old?.ends(1);
    expect(deaths()).toBe(1);
    ready(fresh);
    expect(fresh?.sent).toEqual([begin(old!.workerId)]);
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
    expect(deaths()).toBe(0);
  });

  test("holds nobody up once it has ended", async () => {
    const { clock, children, supervisor } = setUp();
    const stopped = supervisor.stop(3_600_000);
    children[0]?.ends(0);
    await clock.pass(0);
    await stopped;
    expect(children).toHaveLength(1);
  });

  test("takes along the one that was about to take over", async () => {
    const { clock, children, supervisor, started } = setUp();
    started();
    supervisor.reload();
    const stopped = supervisor.stop(0);
    await clock.pass(1_000);
    await stopped;
    expect(children[1]).toMatchObject({ killed: true });
    await clock.pass(60_000);
    expect(children).toHaveLength(2);
  });
});
