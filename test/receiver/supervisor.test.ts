import { ChildProcess, fork, type ForkOptions } from "node:child_process";
import { describe, expect, onTestFinished, test } from "vitest";
import { forkChild } from "../../receiver/work/handlers-process.ts";
import { begin, superviseStandIns as setUp } from "./helpers/supervised.ts";
import { until } from "./helpers/until.ts";

/** The process of the handlers is kept running, whatever becomes of it. */

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

test("what is wrong with handlers is said again where it comes back after they could be used", async () => {
  const { clock, started, last, said } = setUp();
  const problem = "Error: no CRM_TOKEN";
  const breaks = async (): Promise<void> => {
    last().says({ kind: "broken", problem, files: [] });
    last().ends(78);
    await clock.pass(10_000);
  };
  await breaks();
  await breaks();
  started();
  last().ends(1);
  await clock.pass(10_000);
  await breaks();
  const died = "the handlers' process died; events go on being accepted";
  expect(said()).toEqual([problem, died, problem]);
});

test("a process is started with its memory, its debugger and whose environment it gets, and with no debugger of ours", () => {
  const before = process.execArgv;
  onTestFinished(() => void (process.execArgv = before));
  process.execArgv = ["--inspect", "--inspect-brk=9230", "--conditions=test"];
  const starts: [readonly string[], ForkOptions][] = [];
  const start = (inspect: string | undefined) =>
    forkChild({
      environment: { MINE: "1" },
      handlersModule: new URL("file:///app/handlers.ts"),
      memoryMegabytes: 96,
      inspect,
      nowMs: 7,
      fork: (_file, assignment, options) => {
        starts.push([assignment, options]);
        return new ChildProcess();
      },
    });
  const children = [start(undefined), start("127.0.0.1:9229")];
  const common = ["--conditions=test", "--max-old-space-size=96"];
  expect(starts.map(([, options]) => options)).toEqual([
    { env: { MINE: "1" }, execArgv: common },
    { env: { MINE: "1" }, execArgv: [...common, "--inspect=127.0.0.1:9229"] },
  ]);
  expect(starts.map(([[text = ""]]) => JSON.parse(text) as unknown)).toEqual(
    children.map(({ workerId }) => ({ handlersModule: "file:///app/handlers.ts", workerId })),
  );
  for (const child of children)
    expect(child).toMatchObject({ state: "loading", forkedAtMs: 7, heardAtMs: 7, predecessors: [] });
});

describe("a process that dies", () => {
  test("before it has done anything is followed after 0.1 s, twice as long each time, ten seconds at most", async () => {
    const { clock, children, started, last, beat } = setUp();
    const waits: number[] = [];
    for (let death = 0; death < 9; death += 1) {
      const before = children.length;
      started();
      // The receiver may have run for long: what counts is how long this process has.
      beat();
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

  test.each(["before it has ended", "after it has ended"])(
    "is followed by none, though its handlers change %s, and leaves nothing that waits",
    async (when) => {
      const { clock, children, supervisor, started } = setUp({ keepsSpare: true });
      started();
      const before = children.length;
      const stopped = supervisor.stop(0);
      if (when.startsWith("before")) supervisor.reload();
      children[0]?.ends(0);
      await clock.pass(1_000);
      await stopped;
      if (when.startsWith("after")) supervisor.reload();
      await clock.pass(60_000);
      expect(children).toHaveLength(before);
      expect(clock.waiting()).toBe(0);
    },
  );
});

test("a process that is loading when the one before it dies begins once it has loaded its handlers", async () => {
  const { children, supervisor, started, ready } = setUp({ keepsSpare: true });
  started();
  supervisor.reload();
  const [old, next] = children;
  old?.ends(1);
  expect(next).toMatchObject({ loads: true, sent: [] });
  ready(next);
  expect(next?.sent).toEqual([begin(old?.workerId ?? "")]);
});

test("each trouble of a process is logged with what is known of it", async () => {
  const { clock, lines, started, ready, last, supervisor, children } = setUp();
  started();
  last().emit("error", new Error("no pipe"));
  last().ends(7);
  await clock.pass(100);
  last().emit("close", null, "SIGKILL");
  await clock.pass(200);
  started();
  supervisor.reload();
  last().ends(9);
  supervisor.reload();
  ready();
  children.at(-2)?.ends(0);
  await clock.pass(61_000);
  const died = "the handlers' process died; events go on being accepted";
  expect(lines()).toEqual([
    {
      level: "error",
      err: expect.objectContaining({ message: "no pipe" }),
      msg: "the handlers' process has trouble",
    },
    { level: "error", code: 7, signal: null, restart_in_ms: 100, msg: died },
    { level: "error", code: null, signal: "SIGKILL", restart_in_ms: 200, msg: died },
    {
      level: "error",
      code: 9,
      signal: null,
      msg: "the changed handlers cannot be used; those from before go on",
    },
    { level: "info", msg: "the handlers have changed; those that are new take over" },
    {
      level: "error",
      silent_ms: 60_700,
      msg: "the handlers' process does not start; ending it. Does an import or createServices() wait for something?",
    },
    { level: "error", code: null, signal: null, restart_in_ms: 100, msg: died },
  ]);
});

test("a process that does not end when it is killed for its silence is killed once in five seconds", async () => {
  const { clock, started, last, said } = setUp();
  started();
  let kills = 0;
  Object.assign(last(), { kill: () => (kills += 1) > 0 });
  await clock.pass(6_000);
  expect(kills).toBe(1);
  await clock.pass(5_000);
  expect(kills).toBe(1);
  await clock.pass(1_000);
  expect([kills, said().length]).toEqual([2, 2]);
});

test("attempts count also of a process that is ended for its memory, and nothing that another than the one at work says", () => {
  const { children, ended, supervisor, started, last, deaths } = setUp();
  const attempt = { handler: "pos", type: "order.created", outcome: "done", durationMs: 1 };
  const says = { kind: "alive", ended: [attempt], memoryBytes: 2 ** 40 };
  started();
  supervisor.reload();
  children[1]?.says(says);
  expect([ended, deaths(), children[1]?.killed]).toEqual([[], 0, false]);
  children[0]?.says(says);
  expect([ended, last().killed, children[0]?.killed]).toEqual([[attempt], false, true]);
});
