import type Database from "better-sqlite3";
import type { HandlerDatabase } from "../../engine.ts";

/** The transaction as a handler sees it. It ends with `signal`: a handler that was given up can write nothing more. */
export function createHandlerDatabase(
  db: Database.Database,
  signal: AbortSignal,
): HandlerDatabase & { end: () => void } {
  let open = true;
  return {
    query: async (sql, parameters = []) => {
      if (!open) throw new Error("This transaction has ended: await every query inside atomically().");
      signal.throwIfAborted();
      const statement = db.prepare<[Record<string, unknown>], Record<string, unknown>>(sql);
      // SQLite takes $1, $2, … as names; as names they are the same SQL as on PostgreSQL.
      const named = Object.fromEntries(parameters.map((value, index) => [String(index + 1), value]));
      if (statement.reader) return statement.all(named);
      statement.run(named);
      return [];
    },
    end: () => {
      open = false;
    },
  };
}
