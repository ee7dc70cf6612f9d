import { describe, expect, test } from "vitest";
import { standingClock } from "../helpers/clock.ts";
import { supervise } from "./test-supervisor.ts";

/** When the supervisor ends a handlers' process. */

describe("a process is ended", () => {
  test("when it is silent for five seconds, and the log says that a handler blocks it", async () => {
    const { clock, children, last, live, lines } = supervise();
    await live(3);
    await clock.pass(5_000);
    expect(children[0]?.signals).toEqual([]);
    await clock.pass(1_000);
    expect(children[0]?.signals).toEqual(["SIGKILL"]);
    expect(lines).toMatchObject([{ msg: "a handler blocks its process; it is ended", handler: "pos" }]);
    await clock.pass(1_000);
    last().ends(1);
    await clock.pass(0);
    expect(lines[1]).toMatchObject({ msg: expect.stringContaining("process died") });
  });

  test("after a minute if it does not start, but not while it sends heartbeats and waits for another worker", async () => {
    const { clock, last, children, live, says, lines } = supervise();
    await live(1);
    last().ends(1);
    await clock.pass(61_000);
    expect(children[1]?.signals).toEqual([]);
    await clock.pass(1_000);
    expect(children[1]?.signals).toEqual(["SIGKILL"]);
    expect(lines[1]).toMatchObject({ msg: expect.stringContaining("does not start") });
    for (let second = 0; second < 120; second += 1) {
      says({ kind: "alive", isWorking: false, memoryBytes: 0, ended: [] });
      await clock.pass(1_000);
    }
    expect(children.slice(2).map(({ signals }) => signals)).toEqual([[]]);
  });

  test("when handlers take more than HANDLER_MEMORY_MEGABYTES", async () => {
    const { clock, children, live, says, lines } = supervise({ memoryMegabytes: 64 });
    await live(1, 64 * 1_048_576);
    expect(children[0]?.signals).toEqual([]);
    says({ kind: "alive", isWorking: true, memoryBytes: 64 * 1_048_576 + 1, ended: [] });
    await clock.pass(1_000);
    expect(children[0]?.signals).toEqual(["SIGKILL"]);
    expect(lines).toMatchObject([{ msg: "handlers take more than HANDLER_MEMORY_MEGABYTES" }]);
  });

  test("when it has not ended a second after the grace of a stop", async () => {
    const { clock, last, supervisor } = supervise();
    const stopped = supervisor.stop(5_000);
    await clock.pass(5_999);
    expect(last().signals).toEqual([]);
    await clock.pass(1);
    await stopped;
    expect(last().signals).toEqual(["SIGKILL"]);
  });

  test("not after a pause of the supervisor itself: it first reads the process's messages", async () => {
    let busyMs = 0;
    const clock = standingClock();
    const monotonicMs = () => clock.monotonicMs() + busyMs;
    const { live, says, children } = supervise({ clock: { ...clock, monotonicMs } });
    await live(0);
    says({ kind: "alive", isWorking: true, memoryBytes: 0, ended: [] });
    busyMs = 60_000;
    const passing = clock.pass(1_000);
    says({ kind: "alive", isWorking: true, memoryBytes: 0, ended: [] });
    await passing;
    // One that was ended would be replaced at once.
    expect(children.map(({ signals }) => signals)).toEqual([[]]);
  });
});
