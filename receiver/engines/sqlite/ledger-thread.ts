import "../../../shared/node-version.ts";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../clock.ts";
import { openInboxFile } from "./inbox-file.ts";
import { createLedgerVerbs } from "./ledger-verbs.ts";
import type { LedgerReply, LedgerRequest } from "./ledger.ts";
import { openWorkFile, workFileOf } from "./work-file.ts";

/** Only operators wait here. */
const BUSY_TIMEOUT_MS = 5_000;

const port = parentPort;
const file: unknown = workerData;
if (!port || typeof file !== "string") throw new Error("This runs in a thread, given a file.");

const inbox = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS });
const verbs: Record<string, (nowMs: number, ...rest: never[]) => unknown> = createLedgerVerbs({
  inbox,
  db,
  clock: systemClock,
});

// One after another: two verbs that write would only wait for each other.
let last: Promise<unknown> = Promise.resolve();
port.on("message", (request: LedgerRequest) => {
  last = last.then(async () => {
    if (request !== "close") return port.postMessage(await answer(request));
    db.close();
    inbox.close();
    return port.close();
  });
});

async function answer({ number, verb, nowMs, rest }: Exclude<LedgerRequest, "close">): Promise<unknown> {
  try {
    return { number, ok: true, result: await verbs[verb]?.(nowMs, ...rest) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { number, ok: false, message } satisfies LedgerReply;
  }
}
