import "../../../shared/node-version.ts";
import { systemClock } from "../../clock.ts";
import { openInboxFile } from "./inbox-file.ts";
import { createLedgerVerbs } from "./ledger-verbs.ts";
import type { LedgerAnswer, LedgerQuestion } from "./ledger.ts";
import { answerQuestions } from "./thread.ts";
import { openWorkFile, workFileOf } from "./work-file.ts";

/** Only operators wait here. */
const BUSY_TIMEOUT_MS = 5_000;

answerQuestions<LedgerQuestion & { given: never[] }, LedgerAnswer<unknown>>((file) => {
  const inbox = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
  const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS });
  let askedAtMs = 0;
  const clock = { ...systemClock, nowMs: () => askedAtMs };
  const verbs: Record<string, (...given: never[]) => Promise<unknown>> = createLedgerVerbs({
    inbox,
    db,
    clock,
  });
  return {
    answer: async ({ verb, nowMs, given }) => {
      askedAtMs = nowMs;
      try {
        return { ok: true, result: await verbs[verb]?.(...given) };
      } catch (error) {
        return { ok: false, message: error instanceof Error ? error.message : String(error) };
      }
    },
    close: () => {
      db.close();
      inbox.close();
    },
  };
});
