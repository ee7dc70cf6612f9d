import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LeaseLost, type HandlerDatabase } from "../../engine.ts";
import { DONE } from "../ending.ts";
import { createHandlerQuery } from "../handler-query.ts";
import type { JobStore } from "../loop.ts";
import { withinLimit } from "../within-limit.ts";
import type { Settling } from "./settling.ts";
import { createStatements } from "./statements.ts";
import type { ClaimedJob } from "./taking.ts";
import type { Transactions } from "./transactions.ts";

/** Makes the transactions of handlers: their writes commit together with `done`, or not at all. */
export function createHandlerTransaction(options: {
  db: Database.Database;
  settling: Settling;
  transactions: Transactions;
  clock: Clock;
}): Pick<JobStore<ClaimedJob>, "transact"> & { query: HandlerDatabase["query"] } {
  const { settling, transactions, clock } = options;
  const run = createStatements(options.db);
  return {
    transact: async (job, { signal, onWritten }, work) =>
      commit([signal], work, () => {
        if (!settling.settle(job, DONE, clock.nowMs())) throw new LeaseLost(job.id);
        onWritten();
      }),
    query: async (sql, parameters) => commit([], async ({ query }) => query(sql, parameters)),
  };

  /** Runs `work`, which nothing follows once its time is up or it was aborted, and `finish`, and commits both. */
  async function commit<Result>(
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
