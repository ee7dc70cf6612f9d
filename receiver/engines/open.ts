import type { Clock } from "../clock.ts";
import type { Engine, HandlerMigrations, RetryPolicy } from "../engine.ts";

export type EngineOptions = {
  /** A file for SQLite. */
  databaseFile?: string | undefined;
  /** An address for PostgreSQL. */
  databaseUrl?: string | undefined;
  clock: Clock;
  retry: RetryPolicy;
  migrations?: HandlerMigrations;
  /** What to think of stored events when nobody knows any more which of them were handled. */
  whenLost?: "handle-again" | "consider-handled";
};

/** Opens the engine that the configuration names. The one place that knows them all; a fork deletes what it doesn't use. */
export async function openEngine({ databaseFile, databaseUrl, ...options }: EngineOptions): Promise<Engine> {
  if (databaseUrl !== undefined) {
    const { openPostgresEngine } = await import("./postgres/index.ts");
    return openPostgresEngine({ url: databaseUrl, ...options });
  }
  if (databaseFile === undefined) throw new Error("Neither a file nor an address of a database is given.");
  const { openSqliteEngine } = await import("./sqlite/index.ts");
  return openSqliteEngine({ file: databaseFile, ...options });
}

/** The files that events are kept in; none where that is a server's affair. */
export async function filesOf({ databaseFile }: Pick<EngineOptions, "databaseFile">): Promise<string[]> {
  if (databaseFile === undefined) return [];
  const { workFileOf } = await import("./sqlite/work-file.ts");
  return [databaseFile, workFileOf(databaseFile)];
}
