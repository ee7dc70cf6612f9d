import { existsSync } from "node:fs";
import { loadConfig, type Config } from "../../config.ts";
import type { Engine } from "../../engine.ts";
import { openConfigured, type EngineOptions } from "../../engines/open.ts";
import { secretsOf } from "../secrets.ts";
import { EXIT, processTerminal as terminal, Refused, type Terminal } from "./terminal.ts";

/** What a command works with, and one that works on the inbox; each takes of it what it needs. */
export type Context = { config: Config; terminal: Terminal };
export type InboxContext = Context & { engine: Engine };

/**
 * Loads a command when it is asked for, so that a start has less to read. What the command answers becomes the exit code;
 * undefined means that it goes on running.
 */
type Load<Given extends unknown[], Used> = () => Promise<
  (context: Used, ...given: Given) => Promise<number | undefined>
>;

/** Makes a commander action of a command that needs the configuration. Mistakes in it are printed, one line each. */
export function withConfig<Given extends unknown[]>(
  load: Load<Given, Context>,
  { needsSecret = true } = {},
): (...given: Given) => Promise<void> {
  return async (...given) => {
    // What the environment has set already counts more.
    if (existsSync(".env")) process.loadEnvFile(".env");
    const loaded = loadConfig(process.env, needsSecret ? {} : { needsSecret });
    if (!loaded.ok) {
      for (const problem of loaded.problems) terminal.complain(problem);
      process.exitCode = EXIT.usage;
      return;
    }
    const { config } = loaded;
    terminal.hide(secretsOf(config));
    const exitCode = await orComplain(terminal, async () => (await load())({ config, terminal }, ...given));
    if (exitCode !== undefined) process.exitCode = exitCode;
  };
}

/** Makes a commander action of a command that works on the inbox, beside a running receiver or without one. */
export function withEngine<Given extends unknown[]>(
  load: Load<Given, InboxContext>,
): (...given: Given) => Promise<void> {
  return withConfig(
    async () =>
      async ({ config }, ...given: Given) => {
        if (isUnbegun(config)) {
          const problem = `there is no inbox at ${String(config.databaseFile)} yet. Start the receiver, or set DATABASE_URL.`;
          throw new Refused(problem, EXIT.couldNotRun);
        }
        return onEngine(config, async (engine) => (await load())({ config, engine, terminal }, ...given));
      },
    { needsSecret: false },
  );
}

/** Whether the database is a file that is not there: only `start` makes one. */
export function isUnbegun({ databaseFile }: Config): boolean {
  return databaseFile !== undefined && !existsSync(databaseFile);
}

/** Does something with the engine that the configuration names, and closes it. Throws `CannotOpen`. */
export async function onEngine<Result>(
  config: Config,
  work: (engine: Engine) => Promise<Result>,
  options?: Pick<EngineOptions, "whenLost">,
): Promise<Result> {
  const engine = await openConfigured(config, options);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** Does `work`; complains where that was refused, or the database cannot be opened or fails meanwhile. */
export async function orComplain(
  terminal: Terminal,
  work: () => Promise<number | undefined>,
): Promise<number | undefined> {
  try {
    return await work();
  } catch (error) {
    const isKnown = error instanceof Error && ["Refused", "CannotOpen", "LedgerFailed"].includes(error.name);
    if (!isKnown) throw error;
    terminal.complain(error.message);
    return error instanceof Refused ? error.exitCode : EXIT.couldNotRun;
  }
}
