import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LeaseLost, type Atomically, type HandlerDatabase } from "../../engine.ts";
import { withinLimit } from "../within-limit.ts";
import type { ClaimedEvent, Claims } from "./claims.ts";
import type { Transactions } from "./transactions.ts";

/** Statements that are kept prepared. Handlers have few, unless they put values into their SQL. */
const LARGEST_CACHE = 200;

/** `onWritten` is called once the handler's writes are done and only the common commit is missing. */
export type HandlerTransaction = (
  event: ClaimedEvent,
  onWritten: () => void,
) => {
  atomically: (signal: AbortSignal) => Atomically;
  committed: () => boolean;
};

/** Makes the transactions of handlers: their writes commit together with `done`, or not at all. */
export function createHandlerTransaction(options: {
  db: Database.Database;
  claims: Claims;
  transactions: Transactions;
  clock: Clock;
}): HandlerTransaction {
  const { claims, transactions, clock } = options;
  const prepare = createStatementCache(options.db);

  return (event, onWritten) => {
    let begun = false;
    let committed = false;
    return {
      committed: () => committed,
      atomically: (signal) => async (work) => {
        if (begun) {
          throw new Error("atomically() commits the event together with its writes: call it once, last.");
        }
        begun = true;
        const result = await transactions.attempt(async () => {
          const written = await bounded(work, signal);
          if (!claims.complete(event, clock.nowMs())) throw new LeaseLost(event.id);
          onWritten();
          return written;
        });
        committed = true;
        return result;
      },
    };
  };

  /** Runs `work` on the open transaction, until `signal` is aborted or its time is up; nothing can be written after that. */
  async function bounded<Result>(
    work: (db: HandlerDatabase) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    let open = true;
    const query: HandlerDatabase["query"] = async (sql, parameters = []) => {
      if (!open) throw new Error("This transaction has ended: await every query inside atomically().");
      const statement = prepare(sql);
      // SQLite takes $1, $2, … as names; as names they are the same SQL as on PostgreSQL.
      const named: Record<string, unknown> = {};
      for (const [index, value] of parameters.entries()) named[String(index + 1)] = value;
      if (statement.reader) return statement.all(named);
      statement.run(named);
      return [];
    };
    try {
      return await withinLimit(async () => work({ query }), { signals: [signal], clock });
    } finally {
      open = false;
    }
  }
}

function createStatementCache(db: Database.Database) {
  type Statement = Database.Statement<[Record<string, unknown>], Record<string, unknown>>;
  const statements = new Map<string, Statement>();
  return (sql: string): Statement => {
    const known = statements.get(sql);
    if (known) return known;
    if (statements.size >= LARGEST_CACHE) statements.clear();
    const statement = db.prepare<[Record<string, unknown>], Record<string, unknown>>(sql);
    statements.set(sql, statement);
    return statement;
  };
}
