import { describe, expect, test } from "vitest";
import { begin, superviseStandIns as setUp } from "./helpers/supervised.ts";

/** Handlers that change are loaded in a second process, which takes over. */

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

  test("take over from those that do not end as well, which are ended a second after their grace", async () => {
    const { children, supervisor, ready, started, clock, deaths } = setUp();
    started();
    supervisor.reload();
    const [old, fresh] = children;
    ready(fresh);
    expect(old?.sent.at(-1)).toEqual({ kind: "drain", graceMs: 500 });
    await clock.pass(1_499);
    expect({ old: old?.killed, fresh: fresh?.sent }).toEqual({ old: false, fresh: [] });
    await clock.pass(1);
    expect({ old: old?.killed, fresh: fresh?.sent, deaths: deaths() }).toEqual({
      old: true,
      fresh: [begin(old!.workerId)],
      deaths: 0,
    });
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
    expect(said()).toContain(
      "the handlers' process does not start; ending it. Does an import or createServices() wait for something?",
    );
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

describe("while handlers are being changed", () => {
  test("a spare process has started already, is only told to load them, and is followed by another", () => {
    const { children, supervisor, ready, started } = setUp({ keepsSpare: true });
    expect(children.map(({ loads }) => loads)).toEqual([true]);
    started();
    expect(children.map(({ loads }) => loads)).toEqual([true, false]);
    supervisor.reload();
    const [old, fresh] = children;
    expect(children.map(({ loads }) => loads)).toEqual([true, true]);
    ready(fresh);
    old?.ends(0);
    expect(fresh?.sent).toEqual([begin(old!.workerId)]);
    fresh?.says({ kind: "started" });
    expect(children.map(({ loads }) => loads)).toEqual([true, true, false]);
  });

  test("a spare process may wait for days, and has a minute for the handlers then", async () => {
    const { children, supervisor, started, beat, clock } = setUp({ keepsSpare: true });
    started(children[0]);
    const live = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        await clock.pass(1_000);
        beat(0, children[0]);
      }
    };
    await live(300);
    supervisor.reload();
    await live(60);
    expect(children.map(({ killed }) => killed)).toEqual([false, false]);
    await live(1);
    expect(children.map(({ killed }) => killed)).toEqual([false, true]);
  });

  test("the next change starts a process where the spare one could not be started", () => {
    const { children, supervisor, started, said } = setUp({ keepsSpare: true });
    started();
    children[1]?.says({ kind: "broken", problem: "the database is away", files: [] });
    children[1]?.ends(78);
    supervisor.reload();
    expect(children.map(({ loads }) => loads)).toEqual([true, false, true]);
    expect(said()).toEqual([]);
  });

  test("the spare process ends with the receiver", async () => {
    const { children, supervisor, started } = setUp({ keepsSpare: true });
    started();
    children[0]?.ends(0);
    await supervisor.stop(0);
    expect(children[1]).toMatchObject({ killed: true });
  });
});

test("outside of that no process is started that handles nothing", () => {
  const { children, started } = setUp();
  started();
  expect(children).toHaveLength(1);
});
