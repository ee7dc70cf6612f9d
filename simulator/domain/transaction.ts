import type { Database } from "better-sqlite3";

export type Transaction = <Result>(action: () => Result) => Result;

/** Stores all writes of `action`, or none if it throws or returns a refusal. Create it once: that takes longer than a transaction. */
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
