import { setImmediate } from "node:timers";
import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { unavailability } from "./database.ts";

/** How long a transaction waits for another process to finish its own. */
const BUSY_LIMIT_MS = 8_000;
const BUSY_PAUSE_MS = 20;

/** What is queued goes into one commit, up to this. */
const LARGEST_GROUP = 256;
const LONGEST_GROUP_MS = 10;

export type Transactions = {
  /** Runs `work`, which may fail alone: then only its own writes are rolled back. Resolves once they are committed. */
  run: <Result>(work: () => Result | Promise<Result>) => Promise<Result>;
};

/** `work` answers what is to be called once its writes are committed. */
type Job = { work: () => Promise<() => void>; reject: (error: unknown) => void };

/**
 * All writing through the connection `db`, in groups: what is waiting when a transaction begins shares it, and one
 * commit settles them all. Each has a savepoint in it, and may go on over several turns of the event loop, as a handler's
 * does. A wait for another process's write lock blocks the thread for the connection's busy timeout at a time, not longer.
 */
export function createTransactions(db: Database.Database, clock: Clock): Transactions {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");
  const save = db.prepare("SAVEPOINT attempt");
  const release = db.prepare("RELEASE attempt");
  const undo = db.prepare("ROLLBACK TO attempt");
  const queue: Job[] = [];
  let busy = false;

  return {
    run: async (work) =>
      new Promise((resolve, reject) => {
        const settled = async (): Promise<() => void> => {
          const result = await work();
          return () => resolve(result);
        };
        queue.push({ work: settled, reject });
        if (busy) return;
        busy = true;
        // Whatever else is ready in this turn of the event loop comes along.
        setImmediate(() => void runGroups());
      }),
  };

  async function runGroups(): Promise<void> {
    while (queue.length > 0) await runGroup();
    busy = false;
  }

  async function runGroup(): Promise<void> {
    const group: Job[] = [];
    const committed: (() => void)[] = [];
    try {
      await open();
      const endMs = clock.monotonicMs() + LONGEST_GROUP_MS;
      for (let job = queue.shift(); job; job = queue.shift()) {
        group.push(job);
        committed.push(await attempt(job));
        if (group.length >= LARGEST_GROUP || clock.monotonicMs() >= endMs) break;
      }
      commit.run();
    } catch (error) {
      if (db.inTransaction) rollback.run();
      for (const { reject } of group.length > 0 ? group : queue.splice(0, 1)) reject(error);
      return;
    }
    for (const tell of committed) tell();
  }

  async function attempt({ work, reject }: Job): Promise<() => void> {
    save.run();
    try {
      const tell = await work();
      release.run();
      return tell;
    } catch (error) {
      // SQLite rolls back everything by itself when it runs out of room: then the others have failed too.
      if (!db.inTransaction) throw error;
      undo.run();
      release.run();
      reject(error);
      return () => undefined;
    }
  }

  async function open(): Promise<void> {
    const giveUpAtMs = clock.monotonicMs() + BUSY_LIMIT_MS;
    for (;;) {
      try {
        begin.run();
        return;
      } catch (error) {
        if (unavailability(error) !== "busy" || clock.monotonicMs() >= giveUpAtMs) throw error;
        await clock.sleep(BUSY_PAUSE_MS);
      }
    }
  }
}
