import type { Database } from "better-sqlite3";

export type Transaction = <Result>(action: () => Result) => Result;

/**
 * Makes a group of writes one: all of them are stored, or none, also where the action answers a refusal
 * (`{ ok: false }`). Inside another one it is a part of that. The wrapper is made once, since better-sqlite3 takes
 * longer to make one than a small transaction takes.
 */
export function createTransaction(database: Database): Transaction {
  const run = database.transaction((action: () => void) => action());
  return <Result>(action: () => Result): Result => {
    const results: { value: Result }[] = [];
    try {
      run(() => {
        const value = action();
        results.push({ value });
        if (isRefusal(value)) throw new Refused();
      });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
    const [result] = results;
    if (result === undefined) throw new Error("A transaction that did not throw has a result.");
    return result.value;
  };
}

class Refused extends Error {}

function isRefusal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "ok" in value && value.ok === false;
}
