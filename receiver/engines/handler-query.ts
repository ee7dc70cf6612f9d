import type { HandlerDatabase, SqlValue } from "../engine.ts";

/** White space and comments; no comment within a comment, which PostgreSQL ends later than SQLite. */
const BLANK = String.raw`(?:[\s;]|--[^\n]*(?:\n|$)|/\*(?:(?!/\*)[\s\S])*?\*/)+`;
const BLANK_AT_START = new RegExp(`^${BLANK}`);
/** What a handler's SQL may not begin with: its transaction is begun and ended for it. */
const TRANSACTION_CONTROL = new RegExp(
  `^(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|PREPARE${BLANK}TRANSACTION|VACUUM|ATTACH|DETACH)\\b`,
  "i",
);

/**
 * The rules for SQL inside `atomically`, the same on every engine: nothing that begins or ends a transaction, values that
 * both know, nothing after the end, and a statement that failed fails the whole, whether its error was caught or not.
 * `end` is called when the handler's work is over, and throws that error.
 */
export function createHandlerQuery(
  run: (
    sql: string,
    parameters: readonly SqlValue[],
  ) => Record<string, unknown>[] | Promise<Record<string, unknown>[]>,
): HandlerDatabase & { end: () => void; close: () => void } {
  let open = true;
  let failure: { error: unknown } | undefined;
  return {
    query: async (sql, parameters = []) => {
      if (!open) throw new Error("This transaction has ended: await every query inside atomically().");
      if (failure) throw failure.error;
      try {
        refuseTransactionControl(sql);
        parameters.forEach(refuseUnknownValue);
        return await run(sql, parameters);
      } catch (error) {
        failure ??= { error };
        throw error;
      }
    },
    end: () => {
      open = false;
      if (failure) throw failure.error;
    },
    close: () => void (open = false),
  };
}

function refuseTransactionControl(sql: string): void {
  const text = sql.replace(BLANK_AT_START, "");
  if (text.startsWith("/*"))
    throw new Error(
      "This SQL begins with a comment within a comment, or one that never ends: databases do not agree on what comes after it. Leave it out.",
    );
  const [statement] = TRANSACTION_CONTROL.exec(text) ?? [];
  if (statement === undefined) return;
  throw new Error(
    `${statement.toUpperCase()} inside atomically(): it begins and ends the transaction itself, together with the job. Leave the statement out; throw to roll back.`,
  );
}

function refuseUnknownValue(value: unknown, index: number): void {
  const isKnown =
    value === null || ["string", "number", "bigint"].includes(typeof value) || value instanceof Uint8Array;
  if (isKnown) return;
  const kind =
    value instanceof Date ? "a Date" : Array.isArray(value) ? "an array" : `of type ${typeof value}`;
  throw new TypeError(
    `The value for $${String(index + 1)} is ${kind}. Pass a string, number, bigint, null or Uint8Array: a date as date.toISOString(), an object as JSON.stringify(object), true as 1.`,
  );
}
