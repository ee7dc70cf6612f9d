import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { busyPlaySchema, greenInARow } from "./busy-runs.ts";
import { createNotebook } from "./notebook.ts";
import { countFrom } from "./options.ts";
import { testsOutcome } from "./tests-outcome.ts";

/**
 * The whole of `npm test`, so many times over, beside processes that want a core each: what passes on a quiet machine by
 * luck alone fails here. It keeps what came of each run in the user's cache folder, so that one that was stopped goes on.
 * Says which tests failed, and ends with 1 when one did.
 */

const HOGS = 4;
/** Turns in slices, so that a hog whose parent is gone notices. */
const HOG = `
  process.on("disconnect", () => process.exit());
  const turn = () => { const end = Date.now() + 50; while (Date.now() < end); setImmediate(turn); };
  turn();`;
const FAILED = /^ *(?:FAIL|×) +(.+?)(?: \d+ms)?$|^⎯+ (Unhandled .+?) ⎯+$/gm;

const { values, positionals } = parseArgs({
  options: {
    hogs: { type: "boolean" },
    runs: { type: "string", default: "50" },
    minutes: { type: "string", default: "1440" },
  },
  allowPositionals: true,
});
const runs = countFrom("--runs", values.runs, 1_000);
const endsAtMs = performance.now() + countFrom("--minutes", values.minutes, 1_440) * 60_000;
const commit = git("describe", "--always", "--dirty", "--exclude=*").trim();
// Files that are named are no whole run.
const notebook = createNotebook(positionals.length > 0 ? "busy-files" : "busy-runs", busyPlaySchema);
const plays = notebook.read();
const ofCommit = plays.filter((play) => play.commit === commit);
const directory = mkdtempSync(join(tmpdir(), "hogs-"));
const hogs: ChildProcess[] = Array.from({ length: HOGS }, () =>
  spawn(process.execPath, ["-e", HOG], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
);
try {
  for (let run = ofCommit.length + 1; run <= runs && performance.now() < endsAtMs; run += 1)
    await playOnce(run);
} finally {
  for (const hog of hogs) hog.kill("SIGKILL");
}
const failedRuns = ofCommit.filter(({ failed }) => failed.length > 0).length;
process.stdout.write(
  `figure: runs = ${String(ofCommit.length)}\nfigure: failed = ${String(failedRuns)}\nfigure: green in a row = ${String(greenInARow(plays))}\n`,
);
process.exitCode = failedRuns === 0 ? 0 : 1;

async function playOnce(run: number): Promise<void> {
  const startedAtMs = performance.now();
  const { outcome, printed } = await play(positionals);
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  const names =
    outcome === "passed" ? [] : [...printed.matchAll(FAILED)].map(([, test, other]) => test ?? other ?? "?");
  const failed = outcome === "passed" ? [] : [...new Set(names.length > 0 ? names : ["?"])];
  const entry = { commit, seconds, failed };
  notebook.add(entry);
  plays.push(entry);
  ofCommit.push(entry);
  const place = `[${String(run)}/${String(runs)}] ${String(seconds)} s`;
  if (failed.length === 0) {
    process.stdout.write(`${place}: green\n`);
    return;
  }
  const log = join(directory, `${String(run)}.log`);
  writeFileSync(log, printed);
  process.stdout.write(`${place}: failed, all of it in ${log}\n${failed.join("\n")}\n`);
}

/** Once through these tests. */
async function play(files: string[]): Promise<{ outcome: ReturnType<typeof testsOutcome>; printed: string }> {
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...files], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { outcome: testsOutcome(code, printed), printed: stripVTControlCharacters(printed) };
}

function git(...words: string[]): string {
  return execFileSync("git", words, { encoding: "utf8" });
}
