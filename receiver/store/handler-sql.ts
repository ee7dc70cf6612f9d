import type Database from "better-sqlite3";
import type { Turn } from "./database.ts";
import type { HandlerDatabase, SqlValue } from "./port.ts";

/** Prepared statements to keep. Handlers need few, unless they put values into their SQL. */
const LARGEST_CACHE = 200;

/** A placeholder, or a part of the SQL that may contain a look-alike: strings, quoted names and comments. */
const PLACEHOLDER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\$([0-9]+)/g;

/** White space and comments before the first word. */
const BLANK = /^(?:[\s;]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;
const TRANSACTION_CONTROL =
  /^(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|PREPARE\s+TRANSACTION|VACUUM|ATTACH|DETACH|PRAGMA)\b/i;

type Row = Record<string, unknown>;
type Prepared = { statement: Database.Statement<[unknown[]], Row>; numbers: number[] };

/**
 * Runs the SQL of handlers, with placeholders `$1`, `$2`, … as in PostgreSQL. Both databases convert values alike: a boolean
 * to 1 or 0, a date to ISO 8601, another object to JSON. Integers beyond 2^53 are returned as bigint.
 */
export function createHandlerSql(db: Database.Database) {
  const known = new Map<string, Prepared>();

  return {
    /**
     * Calls `work` with a database that can be queried until the turn is over. One failed statement fails the transaction.
     */
    during: async <Result>(turn: Turn, work: (db: HandlerDatabase) => Promise<Result>): Promise<Result> => {
      let failure: { error: unknown } | undefined;
      const query: HandlerDatabase["query"] = async (sql, parameters = []) => {
        if (turn.isOver)
          throw new Error("This transaction has ended: await every query inside atomically().");
        if (failure) throw failure.error;
        try {
          return run(sql, parameters);
        } catch (error) {
          failure = { error };
          throw error;
        }
      };
      const result = await work({ query });
      if (failure) throw failure.error;
      return result;
    },
  };

  function run(sql: string, parameters: readonly SqlValue[]): Row[] {
    const { statement, numbers } = known.get(sql) ?? prepare(sql);
    const wanted = Math.max(0, ...numbers);
    if (parameters.length !== wanted)
      throw new Error(
        `The statement has ${String(wanted)} placeholders and was given ${String(parameters.length)} values.`,
      );
    const values = numbers.map((number) => bound(parameters[number - 1], number));
    if (statement.reader) return statement.all(values).map(withNumbers);
    statement.run(values);
    return [];
  }

  function prepare(sql: string): Prepared {
    refuseTransactionControl(sql);
    if (known.size >= LARGEST_CACHE) known.clear();
    const numbers: number[] = [];
    // SQLite reads $1, $2, … as names, which makes a small INSERT a fifth slower.
    const positional = sql.replaceAll(PLACEHOLDER, (found, number: string | undefined) => {
      if (number === undefined) return found;
      numbers.push(Number(number));
      return "?";
    });
    const prepared = { statement: db.prepare<[unknown[]], Row>(positional).safeIntegers(), numbers };
    known.set(sql, prepared);
    return prepared;
  }
}

/** Throws if a statement begins or ends a transaction, or reaches outside the file. */
export function refuseTransactionControl(sql: string): void {
  const [statement] = TRANSACTION_CONTROL.exec(sql.replace(BLANK, "")) ?? [];
  if (statement === undefined) return;
  throw new Error(
    `${statement.toUpperCase()} is refused here: the transaction begins and ends by itself, together with the job. Leave the statement out; throw to roll back.`,
  );
}

/** A value in the form that both databases take. */
export function bound(
  value: SqlValue | undefined,
  number: number,
): string | number | bigint | null | Uint8Array {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value === undefined || typeof value === "function" || typeof value === "symbol")
    throw new TypeError(
      `The value for $${String(number)} is ${typeof value}. Pass null for a missing value.`,
    );
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(value);
}

function withNumbers(row: Row): Row {
  for (const [name, value] of Object.entries(row))
    if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) row[name] = Number(value);
  return row;
}
