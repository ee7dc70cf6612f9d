import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";

/**
 * The whole of `npm test`, so many times over, beside processes that want a core each: what passes on a quiet machine by
 * luck alone fails here. Says which tests failed in which run, and ends with 1 when one did.
 */

const HOGS = 2;
/** Turns in slices, so that a hog whose parent is gone notices. */
const HOG = `
  process.on("disconnect", () => process.exit());
  const turn = () => { const end = Date.now() + 50; while (Date.now() < end); setImmediate(turn); };
  turn();`;
const FAILED = /^ *(?:FAIL|×) +(.+)$/gm;

const { values, positionals } = parseArgs({
  options: { hogs: { type: "boolean" }, runs: { type: "string", default: "50" } },
  allowPositionals: true,
});
const runs = Number(values.runs);
const directory = mkdtempSync(join(tmpdir(), "hogs-"));
const hogs: ChildProcess[] = Array.from({ length: HOGS }, () =>
  spawn(process.execPath, ["-e", HOG], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
);
let failures = 0;
try {
  for (let run = 1; run <= runs; run += 1) {
    const startedAtMs = performance.now();
    const { code, printed } = await play();
    const place = `[${String(run)}/${String(runs)}] ${((performance.now() - startedAtMs) / 1_000).toFixed(0)} s`;
    if (code === 0) {
      process.stdout.write(`${place}: green\n`);
      continue;
    }
    failures += 1;
    const log = join(directory, `${String(run)}.log`);
    writeFileSync(log, printed);
    const failed = new Set([...printed.matchAll(FAILED)].map(([, name]) => name));
    process.stdout.write(`${place}: failed, all of it in ${log}\n${[...failed].join("\n")}\n`);
  }
} finally {
  for (const hog of hogs) hog.kill("SIGKILL");
}
process.stdout.write(`figure: runs = ${String(runs)}\nfigure: failed = ${String(failures)}\n`);
process.exitCode = failures === 0 ? 0 : 1;

/** Once through the tests, or through the files that are named. */
async function play(): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...positionals], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, printed: stripVTControlCharacters(printed) };
}
