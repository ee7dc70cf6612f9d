import type Database from "better-sqlite3";
import type { AcceptResult } from "../../engine.ts";
import { createAccept } from "./accept.ts";
import { checkSynchronous, unavailability } from "./database.ts";
import { openInboxFile } from "./inbox-file.ts";
import { answerQuestions } from "./thread.ts";
import type { WriterOrder } from "./writer.ts";

/** How long a commit waits for the short transactions of other processes. Only this thread waits. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * The writer thread: stores each batch that it is sent and answers once the commit is synced. The hooks are for tests:
 * of a database in trouble, and of a process that ends in mid-commit.
 */
export function serveWriter(
  hooks: { onOpen?: (db: Database.Database) => void; beforeCommit?: () => void } = {},
): void {
  answerQuestions<WriterOrder, AcceptResult>((file) => {
    let db: Database.Database | undefined;
    let accept: ReturnType<typeof createAccept> | undefined;
    return { answer, close: () => void db?.close() };

    function answer({ batch, nowMs }: WriterOrder): AcceptResult {
      try {
        accept ??= open();
        return { ok: true, acceptances: accept(batch, nowMs) };
      } catch (error) {
        const reason = unavailability(error);
        if (reason === undefined) throw error;
        return { ok: false, reason, detail: error instanceof Error ? error.message : String(error) };
      }
    }

    /** With the first question, so that a file in trouble is a refusal with its reason, and tried again with the next. */
    function open(): ReturnType<typeof createAccept> {
      db?.close();
      db = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
      const opened = createAccept(db, hooks);
      opened([], 0);
      checkSynchronous(db, "FULL");
      hooks.onOpen?.(db);
      return opened;
    }
  });
}
