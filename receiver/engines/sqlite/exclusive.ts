import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { unavailability } from "./database.ts";

/** How long a transaction waits for another process to finish its own. */
const BUSY_LIMIT_MS = 8_000;
const BUSY_PAUSE_MS = 20;

/** Runs a transaction on the connection when no other is open on it. */
export type Exclusive = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

/**
 * One connection has one transaction, and a handler's may go on over several turns of the event loop: everything that
 * writes through `db` therefore queues here. A throw rolls back. Waiting for the write lock of another process does
 * not block the thread.
 */
export function createExclusive(db: Database.Database, clock: Clock): Exclusive {
  let last: Promise<unknown> = Promise.resolve();

  return (work) => {
    const mine = last.then(() => transaction(work));
    last = mine.catch(() => undefined);
    return mine;
  };

  async function transaction<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    await begin();
    try {
      const result = await work();
      db.exec("COMMIT");
      return result;
    } catch (error) {
      if (db.inTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }

  async function begin(): Promise<void> {
    const giveUpAtMs = clock.monotonicMs() + BUSY_LIMIT_MS;
    for (;;) {
      try {
        db.exec("BEGIN IMMEDIATE");
        return;
      } catch (error) {
        if (unavailability(error) !== "busy" || clock.monotonicMs() >= giveUpAtMs) throw error;
        await clock.sleep(BUSY_PAUSE_MS);
      }
    }
  }
}
