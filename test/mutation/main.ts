import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { installPackages } from "../../tools/install-packages.ts";
import { AREAS, type Area } from "./areas.ts";
import { countByFolder, resultsSchema, survivors, tableOf } from "./figures.ts";

const STRYKER = "test/mutation/node_modules/@stryker-mutator/core/bin/stryker.js";
const CONFIG = "test/mutation/stryker.config.json";
/** Where Stryker keeps its results, so that a stopped run can continue. */
const RESULTS = "node_modules/.cache/mutation.json";
/** How many files one run of Stryker mutates; its results are saved after each run. */
const FILES_AT_ONCE = 6;

const USAGE = `Usage: npm run mutation -- [--only WORDS] [--minutes N] [--list]

  Changes the code in every small way, one at a time, and counts which changes a test sees. What was found is kept in
  ${RESULTS}: only what has changed since is tried again.

  --only WORDS   only files whose path contains these words
  --minutes N    begins nothing after that long (default 1440)
  --list         lists what no test saw, and changes nothing
`;

/** Returns the exit code. */
function main(): number {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      minutes: { type: "string", default: "1440" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const endsAtMs = performance.now() + Number(values.minutes) * 60_000;
  if (!values.list) {
    if (!installPackages("test/mutation")) return 1;
    const pieces = AREAS.flatMap((area) => piecesOf(area, values.only));
    for (const { files, tests } of pieces) {
      if (performance.now() < endsAtMs && !play(files, tests)) return 1;
    }
  }
  if (!existsSync(RESULTS)) {
    process.stderr.write(`There is no ${RESULTS} yet: nothing was tried.\n`);
    return 1;
  }
  const results = resultsSchema.parse(JSON.parse(readFileSync(RESULTS, "utf8")));
  if (values.list) {
    for (const line of survivors(results)) if (line.includes(values.only)) process.stdout.write(`${line}\n`);
    return 0;
  }
  const table = tableOf(
    countByFolder(
      results,
      AREAS.map((area) => ({ folder: area.folder, files: filesOf(area) })),
    ),
  );
  process.stdout.write(table);
  return 0;
}

/** An area's files, in their order. */
function filesOf({ files }: Area): string[] {
  const left = files.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const taken = files.filter((pattern) => !pattern.startsWith("!"));
  return globSync(taken, { exclude: left }).toSorted();
}

/** Those whose path contains these words, a few at a time. */
function piecesOf(area: Area, only: string): { files: string[]; tests: string[] }[] {
  const chosen = filesOf(area).filter((file) => file.includes(only));
  return Array.from({ length: Math.ceil(chosen.length / FILES_AT_ONCE) }, (_, piece) => ({
    files: chosen.slice(piece * FILES_AT_ONCE, (piece + 1) * FILES_AT_ONCE),
    tests: area.tests,
  }));
}

/** Has Stryker mutate these files; false if it could not. */
function play(files: readonly string[], tests: readonly string[]): boolean {
  process.stdout.write(`${files.join(" ")}\n`);
  const { status } = spawnSync(process.execPath, [STRYKER, "run", CONFIG, "--mutate", files.join(",")], {
    stdio: ["ignore", "inherit", "inherit"],
    // Properties try the same cases with each mutation.
    env: { ...process.env, SEED: "1", MUTATION_TESTS: tests.join(" ") },
  });
  return status === 0;
}

process.exitCode = main();
