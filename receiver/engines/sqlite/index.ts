import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import type { Engine, JobHandler, Processor, ProcessOptions } from "../../engine.ts";
import { createClaims, type Claims } from "./claims.ts";
import { openReader, type Files } from "./database.ts";
import { createHandlerTransaction } from "./handler-transaction.ts";
import { createHandlers, type Handlers } from "./handlers.ts";
import { openInboxFile } from "./inbox-file.ts";
import { createLedger } from "./ledger.ts";
import { createProcessor } from "./processor.ts";
import { createSettling } from "./settling.ts";
import { createTransactions } from "./transactions.ts";
import { openWorkFile, workFileOf, type WhenLost } from "./work-file.ts";
import type { LeaseParts } from "./workers.ts";
import { createWriter } from "./writer.ts";

/** The loop's waits for a lock happen on the thread of the handlers, so they are short. */
const BUSY_TIMEOUT_MS = 250;

/**
 * Opens the engine that needs nothing but a directory: two SQLite files on a local disk, shared by any number of
 * processes on one machine. `file` is the inbox; the work file stands beside it as `….work.db`. Throws, with a message
 * for the operator, when the files cannot be used.
 *
 * The caller's thread opens the files, and runs the background loop once it is started; commits and the ledger have a
 * thread each.
 */
export async function openSqliteEngine(options: {
  file: string;
  clock: Clock;
  whenLost?: WhenLost | undefined;
  /** Another entry point for the writer thread; for tests that end the process in mid-commit. */
  writerThreadFile?: URL;
}): Promise<Engine> {
  const { file, clock } = options;
  prepareFiles(options);
  const writer = createWriter({ file, clock, threadFile: options.writerThreadFile });
  const { ledger, close: closeLedger } = createLedger({ file, clock });
  const opened: Database.Database[] = [];

  return {
    intake: writer,
    work: {
      process: async (processing) => {
        const inbox = openReader(file);
        opened.push(inbox);
        const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS });
        opened.push(db);
        return beginWork({ db, inbox, clock }, processing);
      },
    },
    ledger,
    nowMs: async () => clock.nowMs(),
    close: async () => {
      await writer.close();
      await closeLedger();
      for (const db of opened) db.close();
    },
  };
}

/** Announces the handlers and starts the background loop, over connections of its own. */
export async function beginWork(
  { db, inbox, clock }: Files & { clock: Clock },
  processing: ProcessOptions,
): Promise<Processor> {
  const parts = createParts({ db, inbox, clock, policies: processing.handlers });
  await parts.transactions.run(() => parts.handlers.announce());
  parts.handlers.refresh();
  return createProcessor(parts, processing);
}

/** What the background loop is made of, over connections of its own to both files. */
export function createParts({
  db,
  inbox,
  clock,
  policies,
}: Files & { clock: Clock; policies: readonly JobHandler[] }): Parts {
  const handlers = createHandlers(db, policies);
  const settling = createSettling({ db, handlers });
  const lease = { db, settling, transactions: createTransactions(db, clock), clock };
  const claims = createClaims({ db, inbox, handlers });
  return { ...lease, handlers, claims, ...createHandlerTransaction(lease) };
}

type Parts = LeaseParts & { handlers: Handlers; claims: Claims } & ReturnType<
    typeof createHandlerTransaction
  >;

/** Makes both files, or finds out why they cannot be used, before anything else does. */
function prepareFiles({ file, whenLost }: Parameters<typeof openSqliteEngine>[0]): void {
  const inbox = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS, whenLost }).close();
  } finally {
    inbox.close();
  }
}
