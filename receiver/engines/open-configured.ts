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
  if (error instanceof Error && error.name === "PackageMissing") return reason;
  if (file === undefined) return `${reason}${adviceOnServer(error)}`;
  if (reason.includes(file)) return reason;
  return `${file}: ${reason}. Look whether it is the receiver's own, and may be read and written; or mend DATABASE_URL.`;
}

/** What to do where a server didn't answer, or refused; other errors say it themselves. */
function adviceOnServer(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const code = "code" in error ? String(error.code) : "";
  if (code === "42501") return ". Let the role's owner grant it what docs/scaling.md lists.";
  if (/^(28|3D)/.test(code)) return ". Mend the user, the password or the database in DATABASE_URL.";
  const isSilent = /^E[A-Z]+$/.test(code) || code === "57P03" || /timeout|terminated/i.test(error.message);
  return isSilent ? ". Look whether PostgreSQL runs, and DATABASE_URL names it." : "";
}
