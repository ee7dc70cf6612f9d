import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createAccept } from "../../receiver/engines/sqlite/accept.ts";
import { openInboxFile } from "../../receiver/engines/sqlite/inbox-file.ts";
import { openWorkFile, workFileOf } from "../../receiver/engines/sqlite/work-file.ts";
import type { NewEvent } from "../../receiver/engine.ts";

const BATCH = 10_000;
const BUSY_TIMEOUT_MS = 1_000;

/**
 * Makes an inbox in `directory` that holds `count` events as the receiver itself stores them, in batches that are not
 * synced. Bodies are small: of five million events, retention has removed the bodies of most.
 */
export function fillInbox(directory: string, count: number): void {
  const file = join(directory, "receiver.db");
  const inbox = openInboxFile({ file, busyTimeoutMs: BUSY_TIMEOUT_MS });
  openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS }).close();
  inbox.pragma("synchronous = OFF");
  inbox.pragma("cache_size = -1000000");
  inbox.pragma("wal_autocheckpoint = 100000");
  const accept = createAccept(inbox);
  for (let stored = 0; stored < count; stored += BATCH) {
    accept(Array.from({ length: Math.min(BATCH, count - stored) }, newEvent), Date.now());
  }
  inbox.pragma("wal_checkpoint(TRUNCATE)");
  inbox.close();
}

const BODY = Buffer.alloc(64, "x");

function newEvent(): NewEvent {
  return {
    id: `evt_${randomBytes(16).toString("hex")}`,
    type: "call.completed",
    objectId: null,
    source: "webhook",
    trace: null,
    body: BODY,
  };
}
