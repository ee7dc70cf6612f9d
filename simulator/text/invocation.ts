import { readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { z } from "zod";
import { shellWord } from "./shell-words.ts";

export type Started = {
  script: string;
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
};

/** The simulator of a hint: its address, and its token if it needs one. */
export type HintTarget = { simulator: string; token?: string | undefined };

/** The default address of the simulator for commands. */
export const DEFAULT_SIMULATOR = "http://127.0.0.1:4010";

/** The name of the server in `/openapi.json`, by which commands recognize a simulator. */
export const THIS_SIMULATOR = "This simulator";

const NAME = "voice-agent-simulator";
const PACKAGE = "voice-agent-webhook-kit";
/** Matches our files in an npm installation, and captures its folder. */
const INSTALLED = /^(.*?)\/node_modules\/(?:\.bin\/voice-agent|voice-agent-webhook-kit\/)/;

/** A command line of ours to paste, which begins as this process was started. */
export function ourCommand(
  words: string | readonly string[],
  target?: HintTarget,
  started: Started = thisStart(),
): string {
  const text = typeof words === "string" ? words : words.map(shellWord).join(" ");
  const options = target === undefined ? [] : targetOptions(target, started.environment);
  return [ourProgram(started), text, ...options.map(shellWord)].filter((part) => part !== "").join(" ");
}

export function ourProgram(started: Started = thisStart()): string {
  const script = started.script.replaceAll("\\", "/");
  const [, installedIn] = INSTALLED.exec(script) ?? [];
  if (installedIn !== undefined && /\/_npx\/[^/]+$/.test(installedIn))
    return `npx ${shellWord(npxPackage(installedIn))}`;
  if (installedIn !== undefined) return isWithin(started.directory, installedIn) ? `npx ${NAME}` : NAME;
  if (/\/(?:simulator\/main|tools\/(?:start|simulator))\.ts$/.test(script)) return fromCheckout(started);
  if (script.endsWith("/dist/simulator/main.js"))
    return `node ${shellWord(relative(started.directory, started.script))}`;
  return NAME;
}

function thisStart(): Started {
  return {
    script: process.argv[1] ?? "",
    // npm runs scripts in the package's folder.
    directory: process.env["INIT_CWD"] ?? process.cwd(),
    environment: process.env,
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
function fromCheckout({ script, directory }: Started): string {
  const root = dirname(dirname(script));
  const prefix = isWithin(directory, root) ? "" : `--prefix ${shellWord(relative(directory, root))} `;
  return `npm ${prefix}run simulator --`;
}

function isWithin(directory: string, root: string): boolean {
  return directory === root || directory.startsWith(root + sep);
}

const npxManifestSchema = z.looseObject({ _npx: z.looseObject({ packages: z.array(z.string()) }) });

/** The arguments of npx: it stores them beside what it installed. */
function npxPackage(folder: string): string {
  try {
    const manifest = npxManifestSchema.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
    const [given = PACKAGE] = manifest._npx.packages;
    // npx would run a file with an absolute path, not install it.
    return /^(?:\/|[A-Za-z]:[\\/])/.test(given) ? `file:${given}` : given;
  } catch {
    return PACKAGE;
  }
}
