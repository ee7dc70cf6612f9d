import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
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

test.skipIf(!existsSync("/dev/full"))(
  "a full disk under the log ends no process, and holds up none that ends",
  async () => {
    const log = pathToFileURL(join(import.meta.dirname, "../../receiver/operations/log.ts")).href;
    // Several pages, each written when it is full and again when it is due.
    const writer = `
    import { createLog } from "${log}";
    const log = createLog({ level: "info" });
    for (let page = 1; page <= 20; page += 1) {
      for (let line = 1; line <= 10; line += 1) log.info("x".repeat(2_000));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await new Promise((resolve) => log.flush(resolve));
    process.stderr.write("through");
    process.exit(3);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", writer], {
      stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const exited = once(child, "exit");
    assert(child.stderr);
    expect(await text(child.stderr)).toBe("through");
    expect(await exited).toEqual([3, null]);
  },
);

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
      on: () => undefined,
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
