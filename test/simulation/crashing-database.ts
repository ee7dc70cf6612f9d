import type Database from "better-sqlite3";

/** Thrown at every statement of a process that was killed: nothing of it reaches a file any more. */
export class Killed extends Error {
  override readonly name = "Killed";
}

/** Asked before each statement, or after it; what it throws becomes the statement's end. */
export type Gate = (sql: string) => void;

const RUNNERS = new Set(["run", "get", "all", "iterate"]);
const WRAPPED = new WeakSet<object>();

/**
 * The database as a process sees it whose statements may fail, or that may be killed between any two of them,
 * transactions' begins and commits among them. Rolling back is left to it: that is what becomes of an open transaction
 * when a process dies.
 */
export function crashing(
  db: Database.Database,
  gate: Gate,
  gateAfter: Gate = () => undefined,
): Database.Database {
  return new Proxy(db, {
    get(target, name) {
      if (name === "prepare")
        return (sql: string) => statement(target.prepare(sql), sql, { gate, gateAfter });
      if (name === "exec")
        return (sql: string) => {
          gate(sql);
          return target.exec(sql);
        };
      if (name === "transaction")
        return (run: (...parameters: unknown[]) => unknown) => transaction(target.transaction(run), gate);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...parameters: unknown[]): unknown => Reflect.apply(value, target, parameters);
    },
  });
}

function statement<Statement extends object>(
  prepared: Statement,
  sql: string,
  { gate, gateAfter }: { gate: Gate; gateAfter: Gate },
): Statement {
  if (WRAPPED.has(prepared)) return prepared;
  const wrapped: Statement = new Proxy(prepared, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!RUNNERS.has(String(name)))
        return (...parameters: unknown[]) => {
          const result: unknown = Reflect.apply(value, target, parameters);
          return result === target ? wrapped : result;
        };
      return (...parameters: unknown[]) => {
        if (!/^\s*ROLLBACK/i.test(sql)) gate(sql);
        const result: unknown = Reflect.apply(value, target, parameters);
        gateAfter(sql);
        return result;
      };
    },
  });
  WRAPPED.add(wrapped);
  return wrapped;
}

type Transaction = ReturnType<Database.Database["transaction"]>;

function transaction(made: Transaction, gate: Gate): Transaction {
  const guarded =
    (run: (...parameters: unknown[]) => unknown) =>
    (...parameters: unknown[]): unknown => {
      gate("BEGIN");
      const result = run(...parameters);
      gate("COMMITTED");
      return result;
    };
  return Object.assign(guarded(made), {
    default: guarded((...parameters) => made.default(...parameters)),
    deferred: guarded((...parameters) => made.deferred(...parameters)),
    immediate: guarded((...parameters) => made.immediate(...parameters)),
    exclusive: guarded((...parameters) => made.exclusive(...parameters)),
  });
}
