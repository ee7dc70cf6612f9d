import "../../../shared/node-version.ts";
import { openInboxFile } from "./inbox-file.ts";
import { createLedgerVerbs } from "./ledger-verbs.ts";
import { answerQuestions } from "./thread.ts";
import { openWorkFile, workFileOf } from "./work-file.ts";

/** Only operators wait here. */
const BUSY_TIMEOUT_MS = 5_000;

answerQuestions((file, clock, closing) => {
  const inbox = closing(openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS }));
  const work = { file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS };
  const db = closing(openWorkFile(work));
  return createLedgerVerbs({ inbox, db, clock });
});
