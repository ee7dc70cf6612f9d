import { systemClock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import type { Engine } from "../../engine.ts";
import { openEngine } from "../../engines/open.ts";
import { handlers } from "../../handlers/index.ts";
import { retryPolicy } from "../../work/backoff.ts";

/** Where commands write: data to standard output, words to standard error. */
export type Terminal = {
  print: (line: string) => void;
  say: (line: string) => void;
  /** Says what went wrong and how to mend it, in one line. */
  complain: (problem: string) => void;
};

export const processTerminal: Terminal = {
  print: (line) => void process.stdout.write(`${line}\n`),
  say: (line) => void process.stderr.write(`${line}\n`),
  complain: (problem) => void process.stderr.write(`voice-agent-receiver: ${problem}\n`),
};

/** Opens the engine that DATABASE_URL names; complains and answers undefined when that cannot be done. */
export async function openEngineOrComplain(
  config: Config,
  terminal: Terminal,
  whenLost?: "handle-again" | "consider-handled",
): Promise<Engine | undefined> {
  try {
    return await openEngine({
      databaseFile: config.databaseFile,
      databaseUrl: config.databaseUrl,
      clock: systemClock,
      retry: retryPolicy(config.maximumAttempts, Math.random),
      migrations: handlers.map(({ type, migrations }) => ({ handler: type, migrations })),
      ...(whenLost === undefined ? {} : { whenLost }),
    });
  } catch (error) {
    terminal.complain(`cannot open the database: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
