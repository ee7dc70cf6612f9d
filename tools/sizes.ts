import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { forkFiles } from "./fork/files.ts";

/**
 * `npm run check:sizes`: how large each part of the project may be, and how large it is. Exits with 1 if a part has become
 * larger than its goal. Parts that have not reached their goal yet are printed, and fail the check once they have.
 */

if (process.argv.includes("--help")) {
  process.stdout.write("Usage: npm run check:sizes\n\nPrints the size of each part beside its goal.\n");
  process.exit();
}

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const CODE = /\.(?:[cm]?[jt]sx?|css|html)$/;

const files = new Map(
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: ROOT,
    encoding: "utf8",
  })
    .split("\0")
    .filter((path) => path !== "" && existsSync(ROOT + path))
    .map((path) => [path, readFileSync(ROOT + path, "utf8")] as const),
);
const fork = forkFiles(ROOT, "my-receiver", { library: false });

const linesOf = (text: string): number => text.split("\n").length - 1;
const wordsOf = (text: string): number => text.split(/\s+/).filter(Boolean).length;

/** The files of code whose path matches, from the checkout or from a fork. */
function code(matches: RegExp, from: ReadonlyMap<string, string> = files): string[] {
  return [...from].filter(([path]) => matches.test(path) && CODE.test(path)).map(([, text]) => text);
}
const lines = (...given: Parameters<typeof code>): number =>
  code(...given).reduce((sum, text) => sum + linesOf(text), 0);

function words(matches: RegExp): number {
  return [...files].reduce((sum, [path, text]) => sum + (matches.test(path) ? wordsOf(text) : 0), 0);
}

/** The number of packages that npm has installed here, by its own list. */
function packages(): number {
  const { packages: installed } = z
    .object({ packages: z.record(z.string(), z.looseObject({ link: z.boolean().optional() })) })
    .parse(JSON.parse(readFileSync(`${ROOT}node_modules/.package-lock.json`, "utf8")));
  return Object.values(installed).filter(({ link }) => link !== true).length;
}

const longest = Math.max(...code(/^/).map(linesOf));

/** Each part, its maximum, and its size today. */
const GOALS: [part: string, most: number, today: number][] = [
  ["lines of a fork for SQLite", 3_900, lines(/^(?:receiver|shared)\//, fork)],
  ["files of a fork for SQLite", 60, code(/^(?:receiver|shared)\//, fork).length],
  ["lines of its tests", 6_000, lines(/^test\//, fork)],
  ["lines for PostgreSQL", 1_000, lines(/^receiver\/(?:engines\/)?postgres\//)],
  ["lines of the library", 250, lines(/^receiver\/(?:library\/|index\.)/)],
  ["lines of the simulator", 21_500, lines(/^simulator\/(?!dashboard\/)/)],
  ["lines of its dashboard", 9_200, lines(/^simulator\/dashboard\//)],
  ["lines of all tests", 45_000, lines(/^test\//)],
  ["lines of the longest file", 250, longest],
  ["words of docs/ with the README", 20_000, words(/^(?:README\.md$|docs\/[^/]+\.md$)/)],
  ["words of the README", 800, words(/^README\.md$/)],
  ["words of the changelog", 200, words(/^CHANGELOG\.md$/)],
  ["decisions", 20, [...files.keys()].filter((path) => /^docs\/decisions\/\d/.test(path)).length],
  ["packages that npm ci installs", 399, packages()],
];

/** Still above their goals. */
const NOT_REACHED = new Set(["lines of a fork for SQLite", "lines for PostgreSQL", "lines of the library"]);

const count = (value: number): string => value.toLocaleString("en-US").padStart(7);
for (const [part, most, today] of GOALS)
  console.log(`${today <= most ? "✓" : "✗"} ${part.padEnd(36)} ${count(today)} of ${count(most)}`);
for (const [part, most, today] of GOALS) {
  if (today <= most !== NOT_REACHED.has(part)) continue;
  console.log(
    today <= most
      ? `"${part}" has reached its goal: take it off NOT_REACHED in tools/sizes.ts, so that it stays there.`
      : `"${part}" is above its goal again.`,
  );
  process.exitCode = 1;
}
