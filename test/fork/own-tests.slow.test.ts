import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { forkFiles } from "../../tools/fork/files.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";
import { ROOT } from "../repository/files.ts";

const execute = promisify(execFile);

const HANDLERS = `import { defineHandler } from "../work/handler.ts";

const mine = defineHandler({ name: "mine", type: "*", handle: async () => undefined });
export const handlers = [mine];
`;

test("a fork with only its owner's handlers passes its own tests and type-checks", async () => {
  const fork = temporaryDirectory();
  const isShipped = (path: string) =>
    /^(?:test\/)?receiver\/handlers\/|^test\/receiver\/handlers\//.test(path);
  const files = [...forkFiles(ROOT, "mine", { library: false, postgres: false })].filter(
    ([path]) => !isShipped(path),
  );
  for (const [path, text] of [...files, ["receiver/handlers/index.ts", HANDLERS] as const]) {
    mkdirSync(join(fork, dirname(path)), { recursive: true });
    writeFileSync(join(fork, path), text);
  }
  // As `npm run fork` leaves it: with a .env in the folder where the tests run.
  writeFileSync(join(fork, ".env"), "SIGNING_SECRET=whsec_of_the_fork\nADMIN_TOKEN=of-the-fork\n", {
    mode: 0o600,
  });
  symlinkSync(join(ROOT, "node_modules"), join(fork, "node_modules"));
  const { PATH = "", HOME = "" } = process.env;
  // Rejects, with what was printed, if it fails.
  const run = async (bin: string, ...words: string[]) =>
    execute(process.execPath, [join(fork, "node_modules", bin), ...words], {
      cwd: fork,
      env: { PATH, HOME, NO_COLOR: "1" },
      maxBuffer: 32 * 1_048_576,
    });
  expect((await run("typescript/bin/tsc", "--noEmit")).stdout).toBe("");
  const { stdout } = await run("vitest/vitest.mjs", "run", "--reporter=dot", "--maxWorkers=2");
  const [, passed = "0"] = /Tests +(\d+) passed/.exec(stdout) ?? [];
  expect(Number(passed)).toBeGreaterThan(400);
}, 600_000);
