import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Engine } from "../engine.ts";
import { openEngine } from "./open.ts";

/** The database cannot be opened; the message says why, which one it is, and what to do. */
export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
}

/** Opens the engine that the configuration names. Throws `CannotOpen`. */
export async function openConfigured(
  config: Config,
  { whenLost }: { whenLost?: "handle-again" | "consider-handled" | undefined } = {},
): Promise<Engine> {
  const { databaseFile } = config;
  const above = databaseFile === undefined ? "." : dirname(dirname(resolve(databaseFile)));
  // One folder is made, such as data/; more of them would hide that the name was mistyped.
  if (!existsSync(above))
    throw new CannotOpen(
      `cannot open the database: there is no folder ${above}: make it, or mend DATABASE_URL.`,
    );
  try {
    return await openEngine({
      ...config,
      clock: systemClock,
      ...(whenLost === undefined ? {} : { whenLost }),
    });
  } catch (error) {
    throw new CannotOpen(`cannot open the database: ${whyNot(error, databaseFile)}`, { cause: error });
  }
}

function whyNot(error: unknown, file: string | undefined): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (file === undefined || reason.includes(file)) return reason;
  return `${file}: ${reason}. Look whether it is the receiver's own, and may be read and written; or mend DATABASE_URL.`;
}
