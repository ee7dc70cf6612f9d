import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LeaseLost, type Atomically, type HandlerDatabase } from "../../engine.ts";
import type { Ending } from "../ending.ts";
import { withinLimit } from "../within-limit.ts";
import type { ClaimedEvent, Claims } from "./claims.ts";
import { createStatements } from "./statements.ts";
import type { Transactions } from "./transactions.ts";

const DONE: Ending = { state: "done", error: null };

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
  const run = createStatements(options.db);

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
          if (!claims.settle(event, DONE, clock.nowMs())) throw new LeaseLost(event.id);
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
      return run(sql, parameters);
    };
    try {
      return await withinLimit(async () => work({ query }), { signals: [signal], clock });
    } finally {
      open = false;
    }
  }
}
