import pino from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { createLog } from "../../receiver/operations/log.ts";

test("what is logged while a page is on its way follows by itself, and nobody is asked while nothing is said", () => {
  const { shown, flushes, passTime } = standardOutput();
  const log = createLog({ level: "info" });
  log.info("first");
  log.info("second");
  passTime();
  log.info("while those are on their way");
  passTime();
  expect(shown).toEqual(["first", "second"]);
  flushes.at(-1)?.();
  passTime();
  expect(shown).toEqual(["first", "second", "while those are on their way"]);
  flushes.at(-1)?.();
  passTime();
  expect(flushes).toHaveLength(2);
  log.info("later");
  passTime();
  expect(shown.at(-1)).toBe("later");
});

/** Stands in for standard output, where a page is on its way until the last of `flushes` is called, and for time. */
function standardOutput() {
  const waiting: string[] = [];
  const shown: string[] = [];
  const flushes: (() => void)[] = [];
  const due: (() => void)[] = [];
  const { destination } = pino;
  Object.assign(pino, {
    destination: () => ({
      write: (line: Buffer) => waiting.push(/"msg":"([^"]*)"/.exec(line.toString())?.[1] ?? ""),
      flush: (done: () => void) => {
        shown.push(...waiting.splice(0));
        flushes.push(done);
      },
    }),
  });
  const after = vi.spyOn(systemClock, "after").mockImplementation((_, run) => {
    due.push(run);
    return () => undefined;
  });
  onTestFinished(() => {
    after.mockRestore();
    Object.assign(pino, { destination });
  });
  return { shown, flushes, passTime: () => due.splice(0).forEach((run) => run()) };
}
