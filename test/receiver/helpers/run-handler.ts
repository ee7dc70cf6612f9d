import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { HandlerDatabase, SqlValue } from "../../../receiver/engine.ts";
import type { Handler, HandlerContext } from "../../../receiver/work/handler.ts";
import { createLog } from "../../../receiver/operations/log.ts";

/**
 * Runs a handler the way the receiver does, on a database in memory. Each run is an attempt; a throw rolls its writes
 * back. Copy this with the tests beside it to test your own handlers.
 */
export function createHandlerBench(handler: Handler) {
  const db = new Database(":memory:");
  onTestFinished(() => void db.close());
  for (const migration of handler.migrations)
    db.exec(typeof migration === "string" ? migration : migration.sqlite);
  const logged: string[] = [];
  const log = createLog({ level: "debug", destination: { write: (line) => void logged.push(line) } });

  const database: HandlerDatabase = {
    query: async (sql, parameters: readonly SqlValue[] = []) => {
      const statement = db.prepare<[Record<string, unknown>], Record<string, unknown>>(sql);
      const named = Object.fromEntries(parameters.map((value, index) => [String(index + 1), value]));
      if (statement.reader) return statement.all(named);
      statement.run(named);
      return [];
    },
  };

  return {
    logged,
    /** Rows of the handler's tables, or of anything else. */
    rows: (sql: string) => db.prepare<[], Record<string, unknown>>(sql).all(),
    /** One attempt at `envelope`. */
    run: async (envelope: { id: string }, overrides: Partial<HandlerContext> = {}): Promise<void> => {
      const prepared = handler.prepare(envelope);
      if (!prepared.ok) throw new Error(prepared.problem);
      await prepared.run({
        attempt: 1,
        signal: new AbortController().signal,
        log,
        idempotencyKey: envelope.id,
        api: undefined,
        atomically: async (write) => {
          db.exec("BEGIN");
          try {
            const result = await write(database);
            db.exec("COMMIT");
            return result;
          } catch (error) {
            db.exec("ROLLBACK");
            throw error;
          }
        },
        ...overrides,
      });
    },
  };
}
