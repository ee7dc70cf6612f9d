import type { Clock } from "../clock.ts";
import type { Engine, HandlerMigrations, RetryPolicy } from "../engine.ts";

export type EngineOptions = {
  /** A file for SQLite. */
  databaseFile: string;
  clock: Clock;
  retry: RetryPolicy;
  migrations?: HandlerMigrations;
  /** What to think of stored events when nobody knows any more which of them were handled. */
  whenLost?: "handle-again" | "consider-handled";
};

/** Opens the engine that the configuration names. The one place that knows them all; a fork deletes what it doesn't use. */
export async function openEngine({ databaseFile, ...options }: EngineOptions): Promise<Engine> {
  const { openSqliteEngine } = await import("./sqlite/index.ts");
  return openSqliteEngine({ file: databaseFile, ...options });
}
