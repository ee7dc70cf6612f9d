import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { busyPlaySchema, busyRuns } from "./busy-runs.ts";
import { createNotebook } from "./notebook.ts";
import { countFrom } from "./options.ts";
import { testsOutcome } from "./planted/tests-outcome.ts";

/**
 * The whole of `npm test`, so many times over, beside processes that want a core each: what passes on a quiet machine by
 * luck alone fails here. It plays folder after folder and keeps what came of each in the user's cache folder, so that
 * one that was stopped goes on. Says which tests failed, and ends with 1 when one did.
 */

const HOGS = 2;
/** Turns in slices, so that a hog whose parent is gone notices. */
const HOG = `
  process.on("disconnect", () => process.exit());
  const turn = () => { const end = Date.now() + 50; while (Date.now() < end); setImmediate(turn); };
  turn();`;
const FAILED = /^ *(?:FAIL|×) +(.+?)(?: \d+ms)?$/gm;

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
const folders = git("ls-files", "test/*.test.ts").match(/^test\/[^/]+\//gm) ?? [];
// Files that are named are one part, and no whole run.
const parts = positionals.length > 0 ? [positionals.join(" ")] : [...new Set(folders)];
const notebook = createNotebook(positionals.length > 0 ? "busy-files" : "busy", busyPlaySchema);
const ofCommit = notebook.read().filter((play) => play.commit === commit);
const directory = mkdtempSync(join(tmpdir(), "hogs-"));
const hogs: ChildProcess[] = Array.from({ length: HOGS }, () =>
  spawn(process.execPath, ["-e", HOG], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
);
try {
  for (let run = 1; run <= runs; run += 1) for (const part of parts) await playOnce(run, part);
} finally {
  for (const hog of hogs) hog.kill("SIGKILL");
}
const [whole = { runs: 0, failed: 0 }] = busyRuns(ofCommit.filter(({ part }) => parts.includes(part)));
process.stdout.write(`figure: runs = ${String(whole.runs)}\nfigure: failed = ${String(whole.failed)}\n`);
process.exitCode = whole.failed === 0 ? 0 : 1;

/** Plays the part unless it was played in this run before, or time is up. */
async function playOnce(run: number, part: string): Promise<void> {
  if (ofCommit.filter((play) => play.part === part).length >= run || performance.now() > endsAtMs) return;
  const startedAtMs = performance.now();
  const { outcome, printed } = await play(part.split(" "));
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  const names = outcome === "passed" ? [] : [...printed.matchAll(FAILED)].map(([, name = "?"]) => name);
  const failed = outcome === "passed" ? [] : [...new Set(names.length > 0 ? names : ["?"])];
  const entry = { commit, part, parts: parts.length, seconds, failed };
  notebook.add(entry);
  ofCommit.push(entry);
  const place = `[${String(run)}/${String(runs)}] ${part} ${String(seconds)} s`;
  if (failed.length === 0) {
    process.stdout.write(`${place}: green\n`);
    return;
  }
  const log = join(directory, `${String(run)}-${part.replaceAll(/[^a-z0-9]+/gi, "-")}.log`);
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
