import "../../../shared/node-version.ts";
import { openInboxFile } from "./inbox-file.ts";
import { createLedgerVerbs } from "./ledger-verbs.ts";
import { answerQuestions } from "./thread.ts";
import { openWorkFile, workFileOf } from "./work-file.ts";

/** Only operators wait here. */
const BUSY_TIMEOUT_MS = 5_000;

answerQuestions((file, clock) => {
  const inbox = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
  const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS });
  return {
    verbs: createLedgerVerbs({ inbox, db, clock }),
    close: () => {
      db.close();
      inbox.close();
    },
  };
});
