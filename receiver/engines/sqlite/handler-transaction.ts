import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LeaseLost, type Atomically, type HandlerDatabase } from "../../engine.ts";
import type { Ending } from "../ending.ts";
import { createHandlerQuery } from "../handler-query.ts";
import { withinLimit } from "../within-limit.ts";
import type { Settling } from "./settling.ts";
import { createStatements } from "./statements.ts";
import type { ClaimedJob } from "./taking.ts";
import type { Transactions } from "./transactions.ts";

const DONE: Ending = { state: "done", error: null };

/** `onWritten` is called once the handler's writes are done and only the common commit is missing. */
export type HandlerTransaction = (
  job: ClaimedJob,
  onWritten: () => void,
) => {
  atomically: (signal: AbortSignal) => Atomically;
  committed: () => boolean;
};

/** Makes the transactions of handlers: their writes commit together with `done`, or not at all. */
export function createHandlerTransaction(options: {
  db: Database.Database;
  settling: Settling;
  transactions: Transactions;
  clock: Clock;
}): HandlerTransaction {
  const { settling, transactions, clock } = options;
  const run = createStatements(options.db);

  return (job, onWritten) => {
    let begun = false;
    let committed = false;
    return {
      committed: () => committed,
      atomically: (signal) => async (work) => {
        if (begun) {
          throw new Error("atomically() commits the job together with its writes: call it once, last.");
        }
        begun = true;
        const result = await transactions.attempt(async () => {
          const written = await bounded(work, signal);
          if (!settling.settle(job, DONE, clock.nowMs())) throw new LeaseLost(job.id);
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
    const { query, end, close } = createHandlerQuery(run);
    try {
      const result = await withinLimit(async () => work({ query }), { signals: [signal], clock });
      end();
      return result;
    } finally {
      close();
    }
  }
}
