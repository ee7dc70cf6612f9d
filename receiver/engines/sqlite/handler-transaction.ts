import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LeaseLost, type Atomically, type HandlerDatabase } from "../../engine.ts";
import { DONE } from "../ending.ts";
import { createHandlerQuery } from "../handler-query.ts";
import { withinLimit } from "../within-limit.ts";
import type { Settling } from "./settling.ts";
import { createStatements } from "./statements.ts";
import type { ClaimedJob } from "./taking.ts";
import type { Transactions } from "./transactions.ts";

/** The transaction of one attempt, and whether it was committed. */
export type HandlerTransaction = (
  job: ClaimedJob,
  /** Called once the handler's writes are done and only the common commit is missing. */
  onWritten: () => void,
) => { atomically: (signal: AbortSignal) => Atomically; committed: () => boolean };

/** Makes the transactions of handlers: their writes commit together with `done`, or not at all. */
export function createHandlerTransaction(options: {
  db: Database.Database;
  settling: Settling;
  transactions: Transactions;
  clock: Clock;
}): { handlerTransaction: HandlerTransaction; query: HandlerDatabase["query"] } {
  const { settling, transactions, clock } = options;
  const run = createStatements(options.db);

  const handlerTransaction: HandlerTransaction = (job, onWritten) => {
    let begun = false;
    let committed = false;
    return {
      committed: () => committed,
      atomically: (signal) => async (work) => {
        if (begun) {
          throw new Error("atomically() commits the job together with its writes: call it once, last.");
        }
        begun = true;
        const result = await transact([signal], work, () => {
          if (!settling.settle(job, DONE, clock.nowMs())) throw new LeaseLost(job.id);
          onWritten();
        });
        committed = true;
        return result;
      },
    };
  };
  return {
    handlerTransaction,
    query: async (sql, parameters) => transact([], async ({ query }) => query(sql, parameters)),
  };

  /** Runs `work`, which nothing follows once its time is up or it was aborted, and `finish`, and commits both. */
  async function transact<Result>(
    signals: AbortSignal[],
    work: (db: HandlerDatabase) => Promise<Result>,
    finish: () => void = () => undefined,
  ): Promise<Result> {
    return transactions.run(async () => {
      const { query, end, close } = createHandlerQuery(run);
      try {
        const written = await withinLimit(async () => work({ query }), { signals, clock });
        end();
        finish();
        return written;
      } finally {
        close();
      }
    });
  }
}
