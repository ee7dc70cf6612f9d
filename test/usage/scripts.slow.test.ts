import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { ROOT } from "../repository/files.ts";

const { scripts } = z
  .looseObject({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")));
const own = Object.entries(scripts).flatMap(([name, line]) => {
  const [, file] = /^node (\S+\.ts)$/.exec(line) ?? [];
  return file === undefined ? [] : [{ name, file }];
});

type Ran = { code: number; said: string };

/** Runs a script with these words after `npm run NAME --`. */
async function run(file: string, ...words: string[]): Promise<Ran> {
  try {
    const options = { cwd: ROOT, timeout: 60_000 };
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...words], options);
    return { code: 0, said: stdout };
  } catch (error) {
    const failed = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() }).parse(error);
    return { code: failed.code, said: failed.stdout + failed.stderr };
  }
}

test.each(own)("npm run $name -- --help prints its usage, and does nothing", async ({ file }) => {
  const { code, said } = await run(file, "--help");
  expect(code).toBe(0);
  expect(said).toMatch(/^Usage: /);
});

test("scripts of ours were found", () => expect(own.length).toBeGreaterThan(6));

test.each([
  ["nosuch --rounds 2", "nosuch"],
  ["receiver nosuch -- --rounds 2", "nosuch"],
])("npm run bench -- %s: names come first, options are the benchmarks'", async (line, unknown) => {
  const { code, said } = await run("bench/main.ts", ...line.split(" "));
  expect({ code, said }).toMatchObject({
    code: 2,
    said: expect.stringContaining(`Unknown benchmark "${unknown}"`),
  });
});
