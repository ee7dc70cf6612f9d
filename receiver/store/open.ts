import type { Command } from "commander";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Store } from "./port.ts";

export type StoreOptions = Partial<Pick<Config, "databaseFile" | "databaseUrl" | "databaseSchema">> & {
  clock: Clock;
  /** Whether this process handles jobs. On SQLite it then also checkpoints the log. */
  isWorker: boolean;
  /** No worker has run since then: new handlers get the events stored meanwhile. Default: now. */
  awaySinceMs?: number | undefined;
  /** Ends the process: committed data may not be on disk. */
  onFatal: (problem: string) => void;
  /** Ends the handlers' process: another worker may begin the jobs that run here. */
  onCutOff?: ((problem: string) => void) | undefined;
  /** The app's own connection pool for PostgreSQL. */
  pool?: object | undefined;
};

/** A folder with a store on a database server, and its commands. */
export type DatabaseServer = {
  openServerStore: (options: StoreOptions & { databaseUrl: string }) => Promise<Store>;
  addCommands: (program: Command) => void;
};

// A list, so that deleting the next line leaves a receiver without PostgreSQL.
const servers: (() => Promise<DatabaseServer>)[] = [];
servers.push(async () => import("../postgres/server.ts"));

/** The PostgreSQL folder, unless it was deleted. */
export async function databaseServer(): Promise<DatabaseServer | undefined> {
  return servers[0]?.();
}

/** Opens the configured inbox. Throws `CannotOpen`, whose message says why and what to do. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseFile: file, databaseUrl } = options;
  try {
    if (databaseUrl !== undefined) {
      const server = await databaseServer();
      if (!server) throw new Error("this receiver has no PostgreSQL. Name a file in DATABASE_URL: sqlite:….");
      return await server.openServerStore({ ...options, databaseUrl });
    }
    if (file === undefined) throw new Error("DATABASE_URL names no database.");
    // Only now: a receiver on PostgreSQL does not load the library for SQLite.
    const { openSqliteStore } = await import("./sqlite.ts");
    return await openSqliteStore({ ...options, file });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const where = file === undefined || reason.includes(file) ? "" : `${file}: `;
    throw new CannotOpen(`cannot open the database: ${where}${reason}`, { cause: error });
  }
}

export class CannotOpen extends Error {
  override readonly name = "CannotOpen";
}
