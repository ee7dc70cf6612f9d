import { statSync } from "node:fs";
import { printable, printableJson } from "../../../shared/text.ts";
import { systemClock } from "../../clock.ts";
import { loadConfig, readEnvironment, type Config, type Environment } from "../../config.ts";
import { openStore } from "../../store/open.ts";
import type { Store } from "../../store/port.ts";

/** Exit codes of commands, the same as the simulator's. */
export const EXIT = { ok: 0, somethingIsWrong: 1, usage: 2, couldNotRun: 3 } as const;

/** Why a command refuses to run, in lines for people. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly exitCode: number;

  constructor(problem: string, exitCode: number = EXIT.usage) {
    super(problem);
    this.exitCode = exitCode;
  }
}

/** What a command found: `json` is printed with --json, `lines` without it, and `notes` go to standard error. */
export type Outcome = {
  exitCode?: number;
  json: unknown;
  lines: readonly string[];
  notes?: readonly string[];
};

export type Context = { config: Config };
/** `environment` reads `.env` again. */
export type StartContext = Context & { environment: () => Environment };
export type OnStore = Context & { store: Store };

type Action<Given extends unknown[]> = (...given: Given) => Promise<void>;
type Load<Given extends unknown[], Used> = () => Promise<
  (context: Used, ...given: Given) => Promise<Outcome | undefined>
>;

/** Prints data to standard output and messages to standard error, with control characters escaped. */
export const terminal = {
  print: (line: string) => void process.stdout.write(`${printable(line)}\n`),
  say: (line: string) => void process.stderr.write(`${printable(line)}\n`),
  complain: (problem: string) =>
    problem.split("\n").forEach((line) => terminal.say(`voice-agent-receiver: ${line}`)),
  /** A line that the next one replaces, if standard error is a terminal. */
  progress: (text: string) =>
    void (process.stderr.isTTY && process.stderr.write(`\r\u001B[2K${printable(text)}`)),
};

/** Makes a commander action from a command that needs the configuration. The command is loaded when it runs. */
export function withConfig<Given extends unknown[]>(
  load: Load<Given, StartContext>,
  options: { needsSecret?: boolean } = {},
): Action<Given> {
  return async (...given) => {
    try {
      const ofTheShell = { ...process.env };
      const environment = (): Environment => environmentOver(ofTheShell);
      Object.assign(process.env, environment());
      const loaded = loadConfig(process.env, options);
      if (!loaded.ok) throw new Refused(loaded.problems.join("\n"));
      const outcome = await (await load())({ config: loaded.config, environment }, ...given);
      if (!outcome) return;
      if (given.some(asksForJson)) process.stdout.write(`${printableJson(JSON.stringify(outcome.json))}\n`);
      else outcome.lines.forEach(terminal.print);
      outcome.notes?.forEach(terminal.say);
      process.exitCode = outcome.exitCode ?? EXIT.ok;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const { name, code = "", syscall = "" }: NodeJS.ErrnoException = error;
      const known = [name, syscall, code].find((word) => Object.hasOwn(KNOWN, word));
      if (known === undefined) throw error;
      terminal.complain((KNOWN[known] ?? "").replace("…", () => error.message));
      process.exitCode = error instanceof Refused ? error.exitCode : EXIT.couldNotRun;
    }
  };
}

function environmentOver(ofTheShell: Environment): Environment {
  try {
    return readEnvironment(ofTheShell);
  } catch (error) {
    throw new Refused(error instanceof Error ? error.message : String(error));
  }
}

const LISTEN =
  "cannot listen: …. End the program that listens there, or choose another HOST, PORT, ADMIN_HOST or ADMIN_PORT.";
const FILE = "…. Fix the path, or run this as a user who may use it.";

/** Errors that are not bugs, by name, system call or code, with the message to print around them. */
const KNOWN: Record<string, string> = {
  Refused: "…",
  CannotOpen: "…",
  SqliteError: "the database cannot be used; `doctor` says more: …",
  EACCES: FILE,
  ENOTDIR: FILE,
  ERR_MODULE_NOT_FOUND: "a package is missing: …. For PostgreSQL, install pg and pg-boss.",
  EMFILE: "this process may open too few files; raise `ulimit -n`: …",
  listen: LISTEN,
  bind: LISTEN,
  getaddrinfo: LISTEN,
};

/** Makes a commander action from a command on the inbox. The receiver may be running or not. */
export function withStore<Given extends unknown[]>(load: Load<Given, OnStore>): Action<Given> {
  const onInbox = async ({ config }: Context, ...given: Given): Promise<Outcome | undefined> => {
    const fix = "Start the receiver, or set DATABASE_URL.";
    if (isUnbegun(config))
      throw new Refused(`there is no inbox at ${String(config.databaseFile)} yet. ${fix}`, EXIT.couldNotRun);
    const work = await load();
    return onStore(config, async (store) => work({ config, store }, ...given));
  };
  return withConfig(async () => onInbox, { needsSecret: false });
}

/** Whether the database file does not exist yet: only `start` creates one. Throws if this user cannot know. */
export function isUnbegun({ databaseFile }: Config): boolean {
  return databaseFile !== undefined && !statSync(databaseFile, { throwIfNoEntry: false });
}

/** Opens the configured store, calls `use` with it, and closes it. */
export async function onStore<Result>(
  config: Config,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const onFatal = (problem: string): void => {
    terminal.complain(problem);
    process.exit(EXIT.couldNotRun);
  };
  const store = await openStore({ ...config, clock: systemClock, isWorker: false, onFatal });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

function asksForJson(given: unknown): boolean {
  return typeof given === "object" && given !== null && "json" in given && given.json === true;
}
