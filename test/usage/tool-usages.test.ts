import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "./receiver-in-process.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "usage-"));
  mkdirSync(join(folder, "full/of/something"), { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAMS = {
  fork: async () => import("../../tools/fork.ts"),
  torture: async () => import("../torture/main.ts"),
};

/** What somebody types behind `npm run`; the exit code; the first line. */
const USAGES: [program: keyof typeof PROGRAMS, words: string, code: number, line: string][] = [
  ["fork", "", 2, "error: missing required argument 'folder'"],
  ["fork", "--frok x", 2, "error: unknown option '--frok'"],
  ["fork", "a b", 2, "error: too many arguments. Expected 1 argument but got 2: a, b."],
  [
    "fork",
    "{dir}/full",
    2,
    "{dir}/full is not empty (it has of): name a folder that is empty or not there yet.",
  ],
  ["fork", "{dir}/none --upgrade", 2, "There is no folder {dir}/none: name that of your fork."],
  [
    "fork",
    "{dir}/full --upgrade",
    2,
    '{dir}/full has no git branch "kit": npm run fork makes it. Without it, make a new fork and copy your handlers there.',
  ],
  ["fork", "--help", 0, "Usage: npm run fork -- [options] <folder>"],
  ["torture", "--minutes x", 2, "--minutes x: give a number up to 1440."],
  ["torture", "--minutes 0", 2, "--minutes 0: give a number up to 1440."],
  ["torture", "--minutes 1441", 2, "--minutes 1441: give a number up to 1440."],
  ["torture", "--seed 1.5", 2, "--seed 1.5: give a whole number."],
  ["torture", "--sed 1", 2, "Unknown option '--sed'"],
  ["torture", "extra", 2, "Unexpected argument 'extra'. This command does not take positional arguments"],
  ["torture", "--only", 2, "Option '--only <value>' argument missing"],
  ["torture", "--only nope", 2, 'No run is called "nope". These are there:'],
  [
    "torture",
    "--figures {dir}/none.json",
    2,
    "--figures {dir}/none.json: this is no report that --json wrote.",
  ],
  ["torture", "--figures package.json", 2, "--figures package.json: this is no report that --json wrote."],
  ["torture", "--planted --onyl x", 2, "Unknown option '--onyl'"],
  ["torture", "--planted --only nope", 2, 'No planted bug is called "nope".'],
  ["torture", "--planted --minutes 0", 2, "--minutes 0: give a whole number from 1 to 1440."],
  ["torture", "--hogs --runs 0", 2, "--runs 0: give a whole number from 1 to 1000."],
  ["torture", "--hogs --runs 1001", 2, "--runs 1001: give a whole number from 1 to 1000."],
  ["torture", "--hogs --runs some", 2, "--runs some: give a whole number from 1 to 1000."],
];

test("a fork is meant from where npm was called, not from where the kit is", async () => {
  const { err } = await runProgram(PROGRAMS.fork, ["full"], { INIT_CWD: folder });
  expect(err).toBe(
    `${folder}/full is not empty (it has of): name a folder that is empty or not there yet.\n`,
  );
});

test.each(USAGES)("npm run %s -- %s", async (program, words, code, line) => {
  const given = words.replaceAll("{dir}", folder).split(" ");
  const ran = await runProgram(PROGRAMS[program], words === "" ? [] : given, {});
  const [first] = (ran.err === "" ? ran.out : ran.err).split("\n");
  expect(first).toBe(line.replaceAll("{dir}", folder));
  expect(ran.code).toBe(code);
  expect(ran.out + ran.err).not.toMatch(/\n {4}at /);
});
