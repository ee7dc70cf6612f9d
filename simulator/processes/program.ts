import { readFileSync, statSync } from "node:fs";
import { win32 } from "node:path";
import { type Refused, refused } from "../domain/refused.ts";

/** What to start for a command, without a shell; the message says how to write the command instead. */
export type Program = { ok: true; file: string; args: string[] } | Refused;

/** A machine, as far as finding a program depends on it. */
export type Machine = {
  platform: NodeJS.Platform;
  env: NodeJS.ProcessEnv;
  /** The Node.js that runs us, where PATH has none. */
  nodePath: string;
  /** The text of a file; undefined where there is none. */
  read: (path: string) => string | undefined;
  isFile: (path: string) => boolean;
};

/** Extensions of programs that Windows starts without its shell. */
const STARTS_BY_ITSELF = new Set([".exe", ".com"]);
const BATCH = new Set([".cmd", ".bat"]);

/** The script that a batch file of npm hands to Node.js: `"%~dp0\node_modules\npm\bin\npm-cli.js"`. */
const SCRIPT_OF_BATCH = /%(?:~dp0|dp0%)\\?([^"%\r\n]+\.[cm]?js)"/g;

/**
 * The program to start for the words of a command. Elsewhere that is the first word. Windows starts no batch files such
 * as `npm.cmd` without its shell, which would read arguments as code: where one of them only hands a script to Node.js,
 * as those of npm do, that is started instead.
 */
export function findProgram(command: readonly string[], machine: Machine): Program {
  const [name = "", ...args] = command;
  if (machine.platform !== "win32") return { ok: true, file: name, args };
  const path = findOnWindows(name, machine);
  // Starting it will fail, and say that there is none.
  if (path === undefined) return { ok: true, file: name, args };
  const extension = win32.extname(path).toLowerCase();
  if (STARTS_BY_ITSELF.has(extension)) return { ok: true, file: path, args };
  const script = BATCH.has(extension) ? scriptOf(path, machine) : undefined;
  if (script !== undefined) {
    return { ok: true, file: findOnWindows("node", machine) ?? machine.nodePath, args: [script, ...args] };
  }
  return refused(
    `${path} cannot be started without a shell: name its interpreter first, such as -- cmd /c ${name}, or -- node script.js.`,
  );
}

/** Looks where Windows would: beside us for a path, in PATH for a name, with each extension of PATHEXT in turn. */
function findOnWindows(name: string, { env, isFile }: Machine): string | undefined {
  const extensions = (variable(env, "PATHEXT") ?? ".com;.exe;.bat;.cmd")
    .toLowerCase()
    .split(";")
    .filter(Boolean);
  const named = win32.extname(name) === "" ? extensions.map((extension) => name + extension) : [name];
  const isPath = /[\\/]/.test(name);
  const folders = isPath ? [""] : ["", ...(variable(env, "PATH") ?? "").split(";").filter(Boolean)];
  return folders.flatMap((folder) => named.map((file) => win32.join(folder, file))).find(isFile);
}

/** The last script that it names: what comes before finds out which one that is. */
function scriptOf(batch: string, { read }: Machine): string | undefined {
  const scripts = [...(read(batch) ?? "").matchAll(SCRIPT_OF_BATCH)].map(([, script = ""]) => script);
  const script = scripts.at(-1);
  return script === undefined ? undefined : win32.join(win32.dirname(batch), script);
}

/** Windows does not tell `Path` from `PATH`; a copy of its environment does. */
function variable(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const key = Object.keys(env).find((known) => known.toUpperCase() === name);
  return key === undefined ? undefined : env[key];
}

/** The machine that we run on, whose programs are looked for where `env` says. */
export function thisMachine(env: NodeJS.ProcessEnv): Machine {
  return {
    platform: process.platform,
    env,
    nodePath: process.execPath,
    read: (path) => (isFile(path) ? readFileSync(path, "utf8") : undefined),
    isFile,
  };
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
