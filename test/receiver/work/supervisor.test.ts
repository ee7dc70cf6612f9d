import { fork, type ForkOptions } from "node:child_process";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SupervisorOptions } from "../../../receiver/work/supervisor.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { until } from "../helpers/until.ts";
import { standIn, supervise } from "./test-supervisor.ts";

/** The supervisor keeps one handlers' process running. Here its processes are controlled by the tests. */

test("a process that could not be started, because of a missing program or no memory, is started again", async () => {
  let forks = 0;
  const broken: SupervisorOptions["fork"][] = [
    (file, args, options) => fork(file, args, { ...options, execPath: "/nowhere/node" }),
    () => {
      throw Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
    },
  ];
  for (const start of broken) {
    forks = 0;
    const { clock, supervisor } = supervise({
      fork: (...given) => {
        forks += 1;
        return start!(...given);
      },
    });
    for (const wanted of [2, 3]) {
      await until(async () => clock.pass(100).then(() => forks >= wanted));
    }
    await supervisor.stop(0);
    await clock.pass(60_000);
    expect(forks).toBe(3);
  }
});

test("each process gets its module, environment, memory limit and first working directory, and not our debugger", async () => {
  const [before, folder] = [process.execArgv, process.cwd()];
  onTestFinished(() => void (process.execArgv = before));
  onTestFinished(() => process.chdir(folder));
  process.execArgv = ["--inspect", "--inspect-brk=9230", "--conditions=test"];
  const starts: [unknown, ForkOptions][] = [];
  const { clock, supervisor } = supervise({
    environment: () => ({ MINE: "1" }),
    handlersModule: new URL("file:///app/handlers.js"),
    memoryMegabytes: 96,
    fork: (_file, args, options) => {
      starts.push([args, options]);
      if (starts.length === 1) throw new Error("spawn ENOMEM");
      return standIn();
    },
  });
  process.chdir("..");
  expect(supervisor.status()).toEqual({ state: "broken", problem: "spawn ENOMEM" });
  await clock.pass(1_000);
  const execArgv = ["--conditions=test", "--max-old-space-size=96"];
  const options = expect.objectContaining({
    cwd: folder,
    execArgv,
    env: expect.objectContaining({ MINE: "1" }),
  });
  const start = [["file:///app/handlers.js", "0"], options];
  expect(starts).toEqual([start, start]);
});

describe("a process that dies", () => {
  test("early is replaced after a second, twice as long each time, half a minute at most", async () => {
    const { clock, children, last, ready } = supervise();
    const pauses: number[] = [];
    for (let death = 0; death < 7; death += 1) {
      const before = children.length;
      ready();
      last().ends(1);
      let passedMs = 0;
      for (; children.length === before; passedMs += 500) await clock.pass(500);
      pauses.push(passedMs);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test("after five seconds is replaced at once, and the next early death waits a second again", async () => {
    const { clock, children, last, live } = supervise();
    for (const pauseMs of [1_000, 2_000]) {
      last().ends(1);
      await clock.pass(pauseMs);
    }
    await live(5);
    last().ends(1);
    await clock.pass(0);
    expect(children).toHaveLength(4);
    last().ends(1);
    await clock.pass(999);
    expect(children).toHaveLength(4);
    await clock.pass(1);
    expect(children).toHaveLength(5);
  });

  test("is counted, and the log names the job that it was running, or all of them", async () => {
    const running = [{ handler: "pos", id: "evt_1" }];
    const given = { running: async () => [...running] };
    const { clock, last, ready, lines, deaths, supervisor } = supervise(given);
    ready();
    last().ends(7);
    expect(supervisor.status()).toEqual({ state: "restarting" });
    await clock.pass(1_000);
    running.push({ handler: "crm", id: "evt_2" });
    last().ends(null);
    await clock.pass(0);
    const msg = "the handlers' process died; events are stored, and it starts again";
    expect(lines).toMatchObject([
      { level: "error", code: 7, handler: "pos", event_id: "evt_1", msg },
      { running: ["pos evt_1", "crm evt_2"], msg },
    ]);
    expect(deaths()).toBe(2);
  });

  test("is restarted even if its running jobs cannot be read", async () => {
    const running = () => Promise.reject(new Error("locked"));
    const { clock, children, last, lines } = supervise({ running });
    last().ends(1);
    await clock.pass(1_000);
    expect([children.length, lines.length]).toEqual([2, 1]);
  });

  test("while the receiver stops is not replaced", async () => {
    const { clock, children, last, supervisor, deaths } = supervise();
    const stopped = supervisor.stop(5_000);
    expect(last().orders).toEqual([{ kind: "drain", graceMs: 5_000 }]);
    last().ends(0);
    await stopped;
    await clock.pass(60_000);
    expect([children.length, deaths()]).toEqual([1, 0]);
  });
});

describe("handlers that cannot be loaded", () => {
  const broken = (problem: string) => ({ kind: "broken", problem, files: {} });

  test("are the status until they can be loaded, are logged once each, and don't count as a death", async () => {
    const { clock, last, says, ready, lines, supervisor, deaths } = supervise();
    expect(supervisor.status()).toEqual({ state: "starting" });
    for (const problem of ["no CRM_TOKEN", "no CRM_TOKEN", "no menu"]) {
      says(broken(problem));
      last().ends(78);
      await clock.pass(10_000);
      expect(supervisor.status()).toEqual({ state: "broken", problem });
    }
    ready();
    expect(supervisor.status()).toEqual({ state: "working" });
    says(broken("no menu"));
    void supervisor.stop(0);
    says(broken("stopped as it loaded"));
    expect(lines.map(({ problem }) => problem)).toEqual(["no CRM_TOKEN", "no menu", "no menu"]);
    expect(deaths()).toBe(0);
  });
});

test("a change of a file starts a process once and without a pause, also one made while it started; none after a stop", async () => {
  const { clock, children, last, says, supervisor } = supervise({ watch: true });
  const file = join(temporaryDirectory(), "handlers.ts");
  const change = async (atSeconds: number) => {
    utimesSync(file, 0, atSeconds);
    await clock.pass(200);
  };
  writeFileSync(file, "");
  await change(1);
  for (const pauseMs of [1_000, 2_000]) {
    last().ends(1);
    await clock.pass(pauseMs);
  }
  says({ kind: "ready", files: { [file]: 1_000 } });
  await clock.pass(200);
  expect(last().orders).toEqual([]);
  await change(3);
  await change(2);
  expect(last().orders).toEqual([{ kind: "drain", graceMs: 500 }]);
  last().ends(0);
  await clock.pass(0);
  expect(children).toHaveLength(4);
  says({ kind: "ready", files: { [file]: 3_000 } });
  await clock.pass(200);
  last().ends(0);
  await clock.pass(0);
  expect(children).toHaveLength(5);
  last().ends(1);
  await clock.pass(1_000);
  expect(children).toHaveLength(6);
  last().ends(1);
  // A change ends the pause.
  await change(4);
  await clock.pass(2_000);
  expect(children).toHaveLength(7);
  const stopped = supervisor.stop(0);
  last().ends(0);
  await stopped;
  await change(5);
  expect(children).toHaveLength(7);
});

test("ended attempts are passed on, and unknown messages are ignored", () => {
  const { says, ended, supervisor } = supervise();
  const job = { handler: "pos", id: "evt_1", type: "order.created", attempt: 1 };
  const attempt = { ...job, outcome: "done", durationMs: 1 };
  for (const message of ["ready", { kind: "ready" }, { kind: "alive", ended: "none" }, null]) says(message);
  expect(supervisor.status()).toEqual({ state: "starting" });
  says({ kind: "alive", isWorking: true, memoryBytes: 0, ended: [attempt] });
  expect(ended).toEqual([attempt]);
});

test("events stored together wake the process once, and a later one again", async () => {
  const { clock, last, supervisor } = supervise();
  for (let event = 0; event < 5; event += 1) supervisor.wake();
  await clock.pass(5);
  expect(last().orders).toEqual([{ kind: "wake" }]);
  supervisor.wake();
  await clock.pass(5);
  expect(last().orders).toHaveLength(2);
});
