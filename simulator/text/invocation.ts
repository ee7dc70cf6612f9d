import { readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { z } from "zod";
import { shellDashes, shellWordFor, type Shell } from "./shell-words.ts";

export type Started = {
  script: string;
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
};

/** The simulator that a hint is for: its address, and its token where it wants one. */
export type HintTarget = { simulator: string; token?: string | undefined };

/** Where commands look for a simulator by themselves. */
export const DEFAULT_SIMULATOR = "http://127.0.0.1:4010";

/** What `/openapi.json` calls its server: a program that says so is one of ours. */
export const THIS_SIMULATOR = "This simulator";

const NAME = "voice-agent-simulator";
const PACKAGE = "voice-agent-webhook-kit";
/** Our files where npm installs them, and the folder that it installed into. */
const INSTALLED = /^(.*?)\/node_modules\/(?:\.bin\/voice-agent|voice-agent-webhook-kit\/)/;

/** A command line of ours that this user can paste: begun the way we were started, quoted for the shell. */
export function ourCommand(
  words: string | readonly string[],
  target?: HintTarget,
  started: Started = thisStart(),
): string {
  const shell = shellOf(started);
  const quote = (word: string) => shellWordFor(word, shell);
  const text = typeof words === "string" ? words : words.map(quote).join(" ");
  const options = target === undefined ? [] : targetOptions(target, started.environment);
  return [ourProgram(started), text, ...options.map(quote)].filter((part) => part !== "").join(" ");
}

export function ourProgram(started: Started = thisStart()): string {
  const shell = shellOf(started);
  const script = started.script.replaceAll("\\", "/");
  const [, installedIn] = INSTALLED.exec(script) ?? [];
  if (installedIn !== undefined && /\/_npx\/[^/]+$/.test(installedIn))
    return `npx ${shellWordFor(npxPackage(installedIn), shell)}`;
  if (installedIn !== undefined) return isWithin(started.directory, installedIn) ? `npx ${NAME}` : NAME;
  if (/\/(?:simulator\/main|tools\/(?:start|simulator))\.ts$/.test(script))
    return fromCheckout(started, shell);
  if (script.endsWith("/dist/simulator/main.js"))
    return `node ${shellWordFor(relative(started.directory, started.script), shell)}`;
  return NAME;
}

/** The shell that hints are for: PowerShell and cmd quote in ways of their own. */
export function shellOf(started: Pick<Started, "platform" | "environment"> = thisStart()): Shell {
  const { platform, environment } = started;
  const { SHELL = "", MSYSTEM, PSModulePath = "" } = environment;
  if (/\bpwsh(?:\.exe)?$/.test(SHELL)) return "powershell";
  if (platform !== "win32" || SHELL !== "" || MSYSTEM !== undefined) return "posix";
  // Windows sets it for everybody; a PowerShell puts the user's own modules in front.
  return /\\Documents\\(?:Windows)?PowerShell\\/i.test(PSModulePath) ? "powershell" : "cmd";
}

function thisStart(): Started {
  return {
    script: process.argv[1] ?? "",
    // npm runs scripts in the package's folder, wherever the user is.
    directory: process.env["INIT_CWD"] ?? process.cwd(),
    environment: process.env,
    platform: process.platform,
  };
}

function targetOptions({ simulator, token }: HintTarget, environment: Started["environment"]): string[] {
  const isToldAlready = token === undefined || token === environment["VOICE_AGENT_SIMULATOR_TOKEN"];
  const words: string[] = [];
  if (simulator !== DEFAULT_SIMULATOR) words.push("--simulator", simulator);
  if (!isToldAlready) words.push("--token", token);
  return words;
}

/** npm finds its script in the folder of the project and below. */
function fromCheckout({ script, directory }: Started, shell: Shell): string {
  const root = dirname(dirname(script));
  const prefix = isWithin(directory, root)
    ? ""
    : `--prefix ${shellWordFor(relative(directory, root), shell)} `;
  return `npm ${prefix}run simulator ${shellDashes(shell)}`;
}

function isWithin(directory: string, root: string): boolean {
  return directory === root || directory.startsWith(root + sep);
}

const npxManifestSchema = z.looseObject({ _npx: z.looseObject({ packages: z.array(z.string()) }) });

/** What npx was given: it keeps that beside what it installed. */
function npxPackage(folder: string): string {
  try {
    const manifest = npxManifestSchema.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
    const [given = PACKAGE] = manifest._npx.packages;
    // npx would run a file by its whole path, not install it.
    return /^(?:\/|[A-Za-z]:[\\/])/.test(given) ? `file:${given}` : given;
  } catch {
    return PACKAGE;
  }
}
