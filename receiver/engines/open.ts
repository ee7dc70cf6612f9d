import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";

export type EngineOptions = {
  /** A file for SQLite. */
  databaseFile?: string | undefined;
  /** An address for PostgreSQL, the schema there, and which database it is that speaks its protocol. */
  databaseUrl?: string | undefined;
  databaseSchema?: string | undefined;
  postgresBackend?: "postgres" | "cockroachdb" | "yugabytedb" | "citus" | undefined;
  /** Whose inbox it is: one in PostgreSQL refuses a receiver that shares none of them with it. */
  signingSecrets?: readonly string[] | undefined;
  clock: Clock;
  /** What to think of stored events when nobody knows any more which of them were handled. */
  whenLost?: "handle-again" | "consider-handled";
};

/** Opens the engine that the configuration names. The one place that knows them all; a fork deletes what it doesn't use. */
export async function openEngine(given: EngineOptions): Promise<Engine> {
  const { databaseFile, databaseUrl, databaseSchema: schema, postgresBackend: backend, ...options } = given;
  if (databaseUrl !== undefined) {
    const { openPostgresEngine } = await import("./postgres/index.ts");
    return openPostgresEngine({ url: databaseUrl, schema, backend, ...options });
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
