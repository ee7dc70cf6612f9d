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
  /** Runs statements that either all succeed or fail the whole group; resolves once they are committed. */
  run: <Result>(statements: () => Result) => Promise<Result>;
  /** Runs `work`, which may fail alone: then only its own writes are rolled back. Resolves once they are committed. */
  attempt: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

/** What to tell whoever waits for a job, once its transaction has ended. */
type Settlement = { committed: () => void; rolledBack: (error: unknown) => void };

type Job = { run: () => Settlement | Promise<Settlement>; refuse: (error: unknown) => void };

/**
 * All writing through the connection `db`, in groups: what is waiting when a transaction begins shares it, and one
 * commit settles them all. A handler's transaction is a savepoint in it and may go on over several turns of the event
 * loop. Waiting for the write lock of another process does not block the thread.
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
    run: async (statements) =>
      new Promise((resolve, reject) => {
        const run = (): Settlement => {
          const result = statements();
          return { committed: () => resolve(result), rolledBack: reject };
        };
        enqueue({ run, refuse: reject });
      }),
    attempt: async (work) =>
      new Promise((resolve, reject) => {
        const run = async (): Promise<Settlement> => {
          save.run();
          try {
            const result = await work();
            release.run();
            return { committed: () => resolve(result), rolledBack: reject };
          } catch (error) {
            // SQLite rolls back everything by itself when it runs out of room: then the others have failed too.
            if (!db.inTransaction) throw error;
            undo.run();
            release.run();
            reject(error);
            return { committed: () => undefined, rolledBack: () => undefined };
          }
        };
        enqueue({ run, refuse: reject });
      }),
  };

  function enqueue(job: Job): void {
    queue.push(job);
    if (busy) return;
    busy = true;
    // Whatever else is ready in this turn of the event loop comes along.
    setImmediate(() => void runGroups());
  }

  async function runGroups(): Promise<void> {
    for (let job = queue.shift(); job; job = queue.shift()) await runGroup(job);
    busy = false;
  }

  async function runGroup(first: Job): Promise<void> {
    const group: Settlement[] = [];
    let current: Job | undefined = first;
    try {
      await open();
      const endMs = clock.monotonicMs() + LONGEST_GROUP_MS;
      while (current) {
        const settlement = current.run();
        group.push(settlement instanceof Promise ? await settlement : settlement);
        const isFull = group.length >= LARGEST_GROUP || clock.monotonicMs() >= endMs;
        current = isFull ? undefined : queue.shift();
      }
      commit.run();
    } catch (error) {
      if (db.inTransaction) rollback.run();
      current?.refuse(error);
      for (const { rolledBack } of group) rolledBack(error);
      return;
    }
    for (const { committed } of group) committed();
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
