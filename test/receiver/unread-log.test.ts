import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const LINES = 6_000;
const writtenSchema = z.looseObject({ line: z.int() });
const log = pathToFileURL(join(import.meta.dirname, "../../receiver/operations/log.ts")).href;

/** Six megabytes in all, a tenth of a megabyte a turn; says so once it is through, and ends a little later. */
const writer = `
  import { createLog } from "${log}";
  const log = createLog({ level: "info" });
  for (let line = 1; line <= ${String(LINES)}; line += 1) {
    log.info({ line }, "x".repeat(950));
    if (line % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  process.stderr.write("through");
  process.stdin.once("data", () => process.exit());`;

test("a log that nobody reads stops nobody and is dropped beyond a megabyte; what is kept is whole", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", writer], { stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [said] = await once(child.stderr, "data");
  expect(String(said)).toBe("through");

  const read = text(child.stdout);
  child.stdin.write("end");
  const lines = (await read)
    .trimEnd()
    .split("\n")
    .map((line) => writtenSchema.parse(JSON.parse(line)).line);
  expect(lines).toEqual(lines.toSorted((left, right) => left - right));
  expect(lines.length).toBeLessThan(LINES / 2);
});
