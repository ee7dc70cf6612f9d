import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import { nodeIsTooOld } from "../../shared/node-version.ts";
import { KINDS, type KindName } from "../create/kinds.ts";
import { nextSteps, projectFiles } from "../create/project.ts";
import { userEnvironment } from "../processes/user-environment.ts";
import { shellWord } from "../text/shell-words.ts";
import { CommandError, EXIT, usageError } from "./command-error.ts";
import { createOutput, type Output } from "./output.ts";

type Flags = Partial<Record<KindName | "fork" | "json", boolean>>;

const NAMES = Object.keys(KINDS).filter((name): name is KindName => name in KINDS);
const PACKAGE = createRequire(import.meta.url).resolve("voice-agent-webhook-kit/package.json");

/** `create DIR`: a receiver to start from, in a separate folder, with its test in CI; asks nothing. */
export default function createCommand(): Command {
  const command = new Command("create")
    .description("make a receiver to start from, with its tests for GitHub, GitLab and any shell")
    .argument("<folder>", "the folder to create; it may exist if it is empty")
    .option("--fork", "the reference receiver, all of it, to own (from a checkout of the kit)");
  for (const name of NAMES) command.option(`--${name}`, KINDS[name].title);
  return command.option("--json", "print JSON").action((folder: string, flags: Flags) => {
    const output = createOutput(flags);
    const chosen = [...NAMES, "fork" as const].filter((name) => flags[name] === true);
    const [name] = chosen;
    if (name === undefined || chosen.length > 1) {
      const all = [...NAMES, "fork"].map((one) => `--${one}`).join(", ");
      throw usageError(`Choose one of ${all}.`);
    }
    const target = resolve(folder);
    const problem = problemWith(target);
    if (problem !== undefined) throw usageError(problem);
    if (name === "fork") process.exitCode = fork(target);
    else make(name, target, output);
  });
}

function problemWith(target: string): string | undefined {
  // If its parent folder is missing too, the path was probably mistyped.
  if (!existsSync(dirname(target))) return `The folder ${dirname(target)} does not exist: create it first.`;
  if (!existsSync(target)) return undefined;
  if (!statSync(target).isDirectory()) return `${target} is a file: name a new or an empty folder.`;
  const [first] = readdirSync(target);
  return first && `${target} is not empty (it has ${first}): name a new or an empty folder.`;
}

function make(name: KindName, target: string, output: Output): void {
  const secret = `whsec_${randomBytes(24).toString("hex")}`;
  const sources = { examples: new URL("../../examples/", import.meta.url), manifest: pathToFileURL(PACKAGE) };
  const project = basename(target)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-");
  const files = projectFiles(name, { project, secret, sources, nodeIsTooOld: usersNodeIsTooOld() });
  mkdirSync(target, { recursive: true });
  pack(target);
  for (const [path, { text, executable = false }] of files) {
    const file = join(target, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: path === ".env" ? 0o600 : executable ? 0o755 : 0o644 });
  }
  const steps = [`cd ${shellWord(folderToType(target))}`, ...nextSteps(name)];
  output.value({ object: "project", kind: name, folder: target, files: [...files.keys()], next: steps });
  output.line(`Made ${target}: ${KINDS[name].title}.`);
  output.note(`\nNext:`);
  for (const step of steps) output.note(`  ${step}`);
}

/** The Node.js of the user's programs, which may differ from ours. */
function usersNodeIsTooOld(): boolean {
  const { status, stdout } = spawnSync("node", ["--version"], { encoding: "utf8", env: userEnvironment() });
  return status === 0 && nodeIsTooOld(stdout.trim().slice(1)) !== undefined;
}

/** Puts this package into the project as a file, since no registry has it. */
function pack(target: string): void {
  const root = dirname(PACKAGE);
  const npm = process.env["npm_execpath"];
  const [program, ...words] = npm === undefined ? ["npm"] : [process.execPath, npm];
  const run = (...more: string[]) =>
    spawnSync(program ?? "npm", [...words, ...more], {
      cwd: root,
      encoding: "utf8",
      shell: process.platform === "win32" && npm === undefined,
    });
  // A checkout has nothing built.
  const built = existsSync(join(root, "tools/build.ts")) ? run("run", "--silent", "build") : undefined;
  const packed =
    built?.status === undefined || built.status === 0
      ? run("pack", "--silent", "--pack-destination", target)
      : built;
  if (packed.status === 0) return;
  const reason = packed.error?.message ?? (packed.stderr || packed.stdout).trim();
  throw new CommandError(`npm could not pack the kit into ${target}: ${reason}`);
}

/** A fork consists of sources and tests, which a checkout has and an installed package does not. */
function fork(target: string): number {
  const script = join(dirname(PACKAGE), "tools/fork.ts");
  if (!existsSync(script))
    throw new CommandError(
      "--fork needs a checkout of the kit, with its sources and tests: run npm run fork -- FOLDER in one.",
    );
  return spawnSync(process.execPath, [script, target], { stdio: "inherit" }).status ?? EXIT.couldNotRun;
}

function folderToType(target: string): string {
  const here = `${process.cwd()}/`;
  return target.startsWith(here) ? target.slice(here.length) : target;
}
