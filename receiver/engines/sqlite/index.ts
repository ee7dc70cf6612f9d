import type { Clock } from "../../clock.ts";
import type { Engine, HandlerMigrations, RetryPolicy } from "../../engine.ts";
import { createClaims } from "./claims.ts";
import { openReader } from "./database.ts";
import { createHandlerTransaction } from "./handler-transaction.ts";
import { openInboxFile } from "./inbox-file.ts";
import { createLedger } from "./ledger.ts";
import { applyHandlerMigrations } from "./handler-migrations.ts";
import { createProcessor } from "./processor.ts";
import { createTransactions } from "./transactions.ts";
import { openWorkFile, workFileOf } from "./work-file.ts";
import { createWorkers } from "./workers.ts";
import { createWriter } from "./writer.ts";

/** The loop's waits for a lock happen on the thread of the handlers, so they are short. */
const BUSY_TIMEOUT_MS = 250;

/**
 * Opens the engine that needs nothing but a directory: two SQLite files on a local disk, shared by any number of
 * processes on one machine. `file` is the inbox; the work file stands beside it as `….work.db`. Throws, with a message
 * for the operator, when the files cannot be used.
 *
 * Nothing of it runs on the caller's thread but the background loop, once it is started: commits and the ledger have a
 * thread each.
 */
export async function openSqliteEngine(options: {
  file: string;
  clock: Clock;
  retry: RetryPolicy;
  /** Tables of the handlers, in the work file. */
  migrations?: HandlerMigrations;
  /** What to think of stored events when the work file is gone. */
  whenLost?: "handle-again" | "consider-handled";
  /** Another entry point for the writer thread; for tests that end the process in mid-commit. */
  writerThreadFile?: URL;
}): Promise<Engine> {
  const { file, clock, retry } = options;
  prepareFiles(options);
  const writer = createWriter({ file, clock, threadFile: options.writerThreadFile });
  const { ledger, release, close: closeLedger } = createLedger({ file, clock, retry });
  const closeLoops: (() => void)[] = [];

  return {
    intake: writer,
    work: {
      process: (processing) => {
        const inbox = openReader(file);
        const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS });
        closeLoops.push(
          () => db.close(),
          () => inbox.close(),
        );
        const claims = createClaims(db, inbox, retry);
        const transactions = createTransactions(db, clock);
        const workers = createWorkers(db, clock);
        const handlerTransaction = createHandlerTransaction({ db, claims, transactions, clock });
        return createProcessor(
          { claims, workers, transactions, handlerTransaction, clock, retry },
          processing,
        );
      },
      release,
    },
    ledger,
    nowMs: async () => clock.nowMs(),
    close: async () => {
      await writer.close();
      await closeLedger();
      for (const close of closeLoops) close();
    },
  };
}

/** Makes both files, or finds out why they cannot be used, before anything else does. */
function prepareFiles(options: Parameters<typeof openSqliteEngine>[0]): void {
  const { file, migrations = [], whenLost } = options;
  const inbox = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    const db = openWorkFile({
      file: workFileOf(file),
      inbox,
      busyTimeoutMs: BUSY_TIMEOUT_MS,
      ...(whenLost === undefined ? {} : { whenLost }),
    });
    try {
      applyHandlerMigrations(db, migrations);
    } finally {
      db.close();
    }
  } finally {
    inbox.close();
  }
}
