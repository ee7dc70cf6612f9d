import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { superviseStandIns as setUp } from "./helpers/supervised.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";

/** Handlers that change are loaded in a new process, which takes the place of the one that runs. */

describe("handlers that have changed", () => {
  test("take over once those from before have drained; that is no death", async () => {
    const { children, supervisor, started, deaths, clock } = setUp();
    started();
    supervisor.reload();
    const [old] = children;
    expect(old?.sent).toEqual([{ kind: "drain", graceMs: 500 }]);
    await clock.pass(400);
    expect(children).toHaveLength(1);
    old?.ends(0);
    expect(children).toHaveLength(2);
    expect(children[1]?.predecessors).toEqual([old?.workerId]);
    expect({ deaths: deaths(), alive: supervisor.alive() }).toEqual({ deaths: 0, alive: true });
  });

  test("take over a second after the grace of those from before, whatever these do", async () => {
    const { children, supervisor, started, deaths, clock } = setUp();
    started();
    supervisor.reload();
    await clock.pass(1_499);
    expect(children[0]).toMatchObject({ killed: false });
    await clock.pass(1);
    expect(children[0]).toMatchObject({ killed: true });
    expect({ children: children.length, deaths: deaths() }).toEqual({ children: 2, deaths: 0 });
  });

  test("again, before they are loaded, are loaded again, and once for all changes until then", async () => {
    const { children, supervisor, said } = setUp();
    supervisor.reload();
    supervisor.reload();
    const [old] = children;
    expect(old?.sent).toHaveLength(1);
    // It has loaded what stood in the files before.
    old?.says({ kind: "broken", problem: "SyntaxError", files: [] });
    old?.ends(78);
    expect(children).toHaveLength(2);
    expect(said()).toEqual([expect.stringContaining("the handlers have changed")]);
  });

  test("and are broken are told of, and tried again", async () => {
    const { children, supervisor, started, last, said, clock } = setUp();
    started();
    supervisor.reload();
    last().ends(0);
    last().says({ kind: "broken", problem: "SyntaxError (index.ts:3)", files: [] });
    last().ends(78);
    expect(said().at(-1)).toBe("SyntaxError (index.ts:3)");
    expect(supervisor.alive()).toBe(false);
    await clock.pass(100);
    expect(children).toHaveLength(3);
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
});

test.each(["started", "broken"])("the files of handlers that have %s are watched", async (kind) => {
  const file = join(temporaryDirectory(), "handlers.ts");
  writeFileSync(file, "");
  const { children, supervisor, last, clock } = setUp({ watchHandlers: true });
  last().says({ kind, problem: "SyntaxError", files: [file] });
  // None are known of handlers that it did not come to: those from before are watched on.
  last().ends(1);
  await clock.pass(100);
  last().says({ kind: "broken", problem: "the database is away", files: [] });
  utimesSync(file, 1, 1);
  await clock.pass(200);
  expect(last().sent).toHaveLength(1);
  last().ends(0);
  expect(children).toHaveLength(3);
  const stopped = supervisor.stop(0);
  last().ends(0);
  await stopped;
});
