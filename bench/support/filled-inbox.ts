import { randomBytes } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import { systemClock } from "../../receiver/clock.ts";
import { openSqliteStore } from "../../receiver/store/sqlite.ts";

/**
 * Makes an inbox in `directory` with `count` handled and pruned events, as most of five million are: only their ids. Written
 * without the store, in one unsynced transaction.
 */
export async function fillInbox(directory: string, count: number): Promise<void> {
  const file = join(directory, "receiver.db");
  const store = await openSqliteStore({ file, clock: systemClock, isWorker: false, onFatal: console.error });
  await store.close();
  const db = new Database(file);
  db.pragma("synchronous = OFF");
  db.pragma("cache_size = -1000000");
  const insert = db.prepare<[Buffer, number]>(
    "INSERT INTO events (id, received_at_ms, handled) VALUES (?, ?, 1)",
  );
  db.transaction(() => {
    for (let stored = 0; stored < count; stored += 1) insert.run(randomBytes(16), Date.now());
  })();
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}
