import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import { openSqliteStore } from "../../../receiver/store/sqlite.ts";
import { movableClock } from "../helpers/clock.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import type { Backend } from "../store-suite/harness.ts";

/** A new database file for one test. */
export async function sqliteBackend(): Promise<Backend & { file: string }> {
  const file = join(temporaryDirectory(), "receiver.db");
  const clock = movableClock();
  return {
    file,
    isSqlite: true,
    open: async () => openSqliteStore({ file, clock, isWorker: true, onFatal: failLoudly }),
    pass: async (ms) => clock.move(ms),
    // What the system does when a process dies: it closes the connections, and writes nothing.
    kill: async (store) => store.close(),
    rows: async (sql) => {
      const db = new Database(file, { readonly: true });
      const rows = db.prepare<[], Record<string, unknown>>(sql).all();
      db.close();
      return rows;
    },
  };
}

export function failLoudly(problem: string): never {
  throw new Error(`The process would have been ended: ${problem}`);
}

/** The store on one file, as an intake opens it. */
export async function openFile(
  file: string,
  { onFatal = failLoudly, clock = systemClock }: { onFatal?: (problem: string) => void; clock?: Clock } = {},
) {
  const store = await openSqliteStore({ file, clock, isWorker: false, onFatal });
  onTestFinished(async () => store.close());
  return store;
}
