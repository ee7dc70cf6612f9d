import type Database from "better-sqlite3";
import type { SqlValue } from "../../engine.ts";
import { namedError } from "../../named-error.ts";

/** Statements that are kept prepared. Handlers have few, unless they put values into their SQL. */
const LARGEST_CACHE = 200;

/** A placeholder, or what may hold something that only looks like one: texts, quoted names and comments. */
const PLACEHOLDER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\$([0-9]+)/g;

type Row = Record<string, unknown>;

/** A statement, and the number of the value that each of its placeholders stands for. */
type Prepared = { statement: Database.Statement<[unknown[]], Row>; numbers: number[] };

/** Answers what runs a handler's SQL, whose placeholders are `$1`, `$2`, … as in PostgreSQL, and answers its rows. */
export function createStatements(
  db: Database.Database,
): (sql: string, parameters: readonly SqlValue[]) => Row[] {
  const known = new Map<string, Prepared>();

  return (sql, parameters) => {
    const { statement, numbers } = known.get(sql) ?? prepare(sql);
    const wanted = Math.max(0, ...numbers);
    if (parameters.length !== wanted) {
      const counts = `placeholders for ${String(wanted)} values and was given ${String(parameters.length)}`;
      throw namedError("WrongValues", `The statement has ${counts}.`);
    }
    const values = numbers.map((number) => parameters[number - 1]);
    if (statement.reader) return statement.all(values);
    statement.run(values);
    return [];
  };

  function prepare(sql: string): Prepared {
    if (known.size >= LARGEST_CACHE) known.clear();
    const numbers: number[] = [];
    // SQLite would take $1, $2, … as names, which is a fifth of what a small INSERT costs.
    const positional = sql.replaceAll(PLACEHOLDER, (found, number: string | undefined) => {
      if (number === undefined) return found;
      numbers.push(Number(number));
      return "?";
    });
    const prepared = { statement: db.prepare<[unknown[]], Row>(positional), numbers };
    known.set(sql, prepared);
    return prepared;
  }
}
