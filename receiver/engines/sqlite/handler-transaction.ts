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
      const { statement, numbers } = prepare(sql);
      const wanted = Math.max(0, ...numbers);
      if (parameters.length !== wanted) throw new WrongValues(wanted, parameters.length);
      const values = numbers.map((number) => parameters[number - 1]);
      if (statement.reader) return statement.all(values);
      statement.run(values);
      return [];
    };
    try {
      return await withinLimit(async () => work({ query }), { signals: [signal], clock });
    } finally {
      open = false;
    }
  }
}

class WrongValues extends Error {
  override readonly name = "WrongValues";

  constructor(wanted: number, given: number) {
    super(`The statement has placeholders for ${String(wanted)} values and was given ${String(given)}.`);
  }
}

/** A statement, and the number of the value that each of its placeholders stands for. */
type Prepared = { statement: Database.Statement<[unknown[]], Record<string, unknown>>; numbers: number[] };

function createStatementCache(db: Database.Database): (sql: string) => Prepared {
  const statements = new Map<string, Prepared>();
  return (sql) => {
    const known = statements.get(sql);
    if (known) return known;
    if (statements.size >= LARGEST_CACHE) statements.clear();
    const numbers: number[] = [];
    // SQLite would take $1, $2, … as names, which is a fifth of what a small INSERT costs.
    const positional = sql.replaceAll(PLACEHOLDER, (found, number: string | undefined) => {
      if (number === undefined) return found;
      numbers.push(Number(number));
      return "?";
    });
    const prepared = { statement: db.prepare<[unknown[]], Record<string, unknown>>(positional), numbers };
    statements.set(sql, prepared);
    return prepared;
  };
}

/** A placeholder, or what may hold something that only looks like one: texts, quoted names and comments. */
const PLACEHOLDER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\$([0-9]+)/g;
