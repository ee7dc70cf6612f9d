import type Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { Clock } from "../../../receiver/clock.ts";
import type { JobHandler } from "../../../receiver/engine.ts";
import { openInboxFile } from "../../../receiver/engines/sqlite/inbox-file.ts";
import { createParts } from "../../../receiver/engines/sqlite/index.ts";
import { openWorkFile, workFileOf } from "../../../receiver/engines/sqlite/work-file.ts";

/** Both files of an inbox, until the test ends. */
export function openFiles(file: string): { inbox: Database.Database; db: Database.Database } {
  const inbox = openInboxFile({ file, busyTimeoutMs: 0 });
  const db = openWorkFile({ file: workFileOf(file), inbox, busyTimeoutMs: 0 });
  onTestFinished(() => void [db, inbox].map((one) => one.close()));
  return { inbox, db };
}

/** The parts of SQLite's background loop for handlers that are announced, without the loop. */
export function announcedParts(options: {
  db: Database.Database;
  inbox: Database.Database;
  clock: Clock;
  policies: readonly JobHandler[];
}) {
  const parts = createParts(options);
  options.db.transaction(() => parts.handlers.announce()).immediate();
  parts.handlers.refresh();
  return parts;
}
