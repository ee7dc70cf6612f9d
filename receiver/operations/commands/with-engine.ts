import { existsSync } from "node:fs";
import { loadConfig, type Config } from "../../config.ts";
import type { Engine } from "../../engine.ts";
import { CannotOpen, openConfigured, type EngineOptions } from "../../engines/open.ts";
import { secretsOf } from "../secrets.ts";
import { EXIT, processTerminal as terminal, type Terminal } from "./terminal.ts";

type Action<Arguments extends unknown[]> = (...rest: Arguments) => Promise<void>;

/**
 * Makes a commander action of a command that needs the configuration. Mistakes in it are printed, one line each; the
 * command's answer becomes the exit code, and undefined means that it goes on running.
 */
export function withConfig<Arguments extends unknown[]>(
  command: (config: Config, ...rest: Arguments) => Promise<number | undefined>,
  { needsSecret = true } = {},
): Action<Arguments> {
  return async (...rest) => {
    loadEnvFile();
    const loaded = loadConfig(process.env, needsSecret ? {} : { needsSecret });
    if (!loaded.ok) {
      for (const problem of loaded.problems) terminal.complain(problem);
      process.exitCode = EXIT.usage;
      return;
    }
    terminal.hide(secretsOf(loaded.config));
    const exitCode = await command(loaded.config, ...rest);
    if (exitCode !== undefined) process.exitCode = exitCode;
  };
}

/** Makes a commander action of a command that works on the inbox, beside a running receiver or without one. */
export function withEngine<Arguments extends unknown[]>(
  command: (context: { engine: Engine; config: Config }, ...rest: Arguments) => Promise<number>,
): Action<Arguments> {
  return withConfig(
    async (config, ...rest: Arguments) => {
      if (isUnbegun(config)) {
        terminal.complain(
          `there is no inbox at ${String(config.databaseFile)} yet. Start the receiver, or set DATABASE_URL.`,
        );
        return EXIT.couldNotRun;
      }
      return onEngine({ config, terminal }, async (engine) => command({ engine, config }, ...rest));
    },
    { needsSecret: false },
  );
}

/** Whether the database is a file that is not there: only `start` makes one. */
export function isUnbegun({ databaseFile }: Config): boolean {
  return databaseFile !== undefined && !existsSync(databaseFile);
}

/** Does something with the engine and closes it; complains where it cannot be opened, or fails meanwhile. */
export async function onEngine(
  { config, terminal, whenLost }: { config: Config; terminal: Terminal } & Pick<EngineOptions, "whenLost">,
  command: (engine: Engine) => Promise<number>,
): Promise<number> {
  const engine = await openEngineOrComplain(config, terminal, whenLost);
  if (!engine) return EXIT.couldNotRun;
  try {
    return await command(engine);
  } catch (error) {
    if (!(error instanceof Error && error.name === "LedgerFailed")) throw error;
    terminal.complain(error.message);
    return EXIT.couldNotRun;
  } finally {
    await engine.close();
  }
}

/** Opens the engine that DATABASE_URL names; complains and answers undefined when that cannot be done. */
export async function openEngineOrComplain(
  config: Config,
  terminal: Terminal,
  whenLost?: EngineOptions["whenLost"],
): Promise<Engine | undefined> {
  try {
    return await openConfigured(config, { whenLost });
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    terminal.complain(error.message);
    return undefined;
  }
}

function loadEnvFile(): void {
  try {
    // What the environment has set already counts more.
    process.loadEnvFile(".env");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
