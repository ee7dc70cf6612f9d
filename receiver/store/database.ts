import { resolve } from "node:path";
import { setImmediate } from "node:timers";
import Database from "better-sqlite3";
import type { Clock } from "../clock.ts";
import { LONGEST_LOG_BYTES, openLog, prepareFile, type Log } from "./files.ts";
import type { Refusal, Unavailable } from "./port.ts";
import { createSchema, isEmpty } from "./schema.ts";

/** How long a write waits for other processes. The service waits 10 s for its answer. */
const BUSY_LIMIT_MS = 8_000;
const TRIES_WITHOUT_SLEEP = 100;

/** Turns of the microtask queue that a transaction of a handler may take. One that waits for more has left the turn. */
const MOST_MICROTASKS = 10_000;

const FOREIGN_AWAIT =
  "atomically() may await its own queries and nothing else: the transaction ends within one turn of the event loop. Call the service before it, and write the result inside.";

export type DatabaseFile = {
  db: Database.Database;
  /**
   * Runs `work` in a transaction, together with all that is written in the same turn of the event loop; one that throws is
   * rolled back by itself. `work` may be async if it ends without leaving the turn. Waits up to 8 s for other processes,
   * without blocking.
   */
  write: <Result>(work: (turn: Turn) => Result | Promise<Result>) => Promise<Result>;
  /** The log, for who takes events. Rejects as busy if it is not free for 8 s; the next call tries again. */
  log: () => Promise<Log>;
  close: () => Promise<void>;
};

/** The time in which a transaction may be used. */
export type Turn = { isOver: boolean };

export type OpenOptions = {
  file: string;
  clock: Clock;
  /** Copies the log into the file at its commits: the worker's part, so that the intake does not wait for it. */
  checkpoints: boolean;
  /** Ends the process: what was committed may not be on disk. */
  onFatal: (problem: string) => void;
};

/** Runs one work in the transaction; returns what to do once it is committed. `reject` gets why it is not. */
type Queued = { run: () => Promise<() => void>; reject: (error: unknown) => void };

/**
 * Opens the database file in WAL mode, and creates it, readable by its owner alone, if it is not there. Commits are not
 * synced by SQLite (`synchronous = NORMAL`): who takes events syncs the log.
 */
export async function openDatabase({
  file,
  clock,
  checkpoints,
  onFatal,
}: OpenOptions): Promise<DatabaseFile> {
  prepareFile(file);
  const db = new Database(resolve(file), { timeout: 0 });
  const begin = db.prepare("BEGIN IMMEDIATE");
  const save = db.prepare("SAVEPOINT work");
  const release = db.prepare("RELEASE work");
  let queue: Queued[] = [];
  let flushing: Promise<void> | undefined;
  let log: Promise<Log> | undefined;

  try {
    // Before anything is written: it may be another program's.
    await retry(() => isEmpty(db, file), clock);
    await retry(() => db.pragma("journal_mode = WAL"), clock);
    db.pragma("synchronous = NORMAL");
    db.pragma("checkpoint_fullfsync = 1");
    db.pragma(`journal_size_limit = ${String(LONGEST_LOG_BYTES / 4)}`);
    db.pragma(`wal_autocheckpoint = ${checkpoints ? "1000" : "0"}`);
    await retry(() => createSchema(db, file), clock);
  } catch (error) {
    db.close();
    throw error;
  }

  return {
    db,
    write: async (work) =>
      new Promise((resolve, reject) => {
        queue.push({ run: async () => run(work, resolve, reject), reject });
        flushing ??= flush();
      }),
    log: async () => {
      log ??= retry(async () => openLog(db, onFatal), clock);
      log.catch(() => (log = undefined));
      return log;
    },
    close: async () => {
      await flushing;
      const opened = await log?.catch(() => undefined);
      db.close();
      await opened?.close();
    },
  };

  async function flush(): Promise<void> {
    while (queue.length > 0) {
      // What else is written in this turn of the event loop goes into the same transaction.
      await new Promise((turn) => setImmediate(turn));
      try {
        await retry(() => begin.run(), clock);
      } catch (error) {
        for (const { reject } of queue.splice(0)) reject(error);
        continue;
      }
      await commit(queue.splice(0));
    }
    flushing = undefined;
  }

  async function commit(batch: readonly Queued[]): Promise<void> {
    const reports: (() => void)[] = [];
    try {
      for (const one of batch) reports.push(await one.run());
      db.exec("COMMIT");
    } catch (error) {
      if (db.inTransaction) db.exec("ROLLBACK");
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const report of reports) report();
  }

  /** What a work that fails has written is rolled back by itself. */
  async function run<Result>(
    work: (turn: Turn) => Result | Promise<Result>,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
  ): Promise<() => void> {
    const turn = { isOver: false };
    save.run();
    try {
      const result = await withinTurn((async () => work(turn))());
      turn.isOver = true;
      release.run();
      return () => resolve(result);
    } catch (error) {
      turn.isOver = true;
      // On a full disk SQLite may have rolled back everything by itself.
      if (!db.inTransaction) throw error;
      db.exec("ROLLBACK TO work; RELEASE work");
      return () => reject(error);
    }
  }
}

/** Waits for a promise by microtasks alone: the event loop does not turn meanwhile. Rejects if that is not enough. */
async function withinTurn<Result>(work: Promise<Result>): Promise<Result> {
  const turn = { isOver: false };
  const end = (): void => void (turn.isOver = true);
  work.then(end, end);
  for (let microtasks = 0; !turn.isOver && microtasks < MOST_MICROTASKS; microtasks += 1)
    await Promise.resolve();
  if (turn.isOver) return work;
  throw new Error(FOREIGN_AWAIT);
}

/**
 * Tries again while another process has the lock, up to 8 s, without blocking. Most have it for less than a millisecond: so it
 * tries in each of the next turns of the event loop before it sleeps between tries.
 */
async function retry<Result>(attempt: () => Result, clock: Clock): Promise<Awaited<Result>> {
  const untilMs = clock.monotonicMs() + BUSY_LIMIT_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (unavailability(error) !== "busy" || clock.monotonicMs() >= untilMs) throw error;
      await (tries < TRIES_WITHOUT_SLEEP ? new Promise((turn) => setImmediate(turn)) : clock.sleep(1));
    }
  }
}

/** Which kind of trouble an error of SQLite is; undefined if it is a bug. */
export function unavailability(error: unknown): Unavailable | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  return REASONS.find(([prefix]) => error.code.startsWith(prefix))?.[1];
}

/** The refusal for an error of the database. Other errors are thrown again. */
export function refusalOf(error: unknown): Refusal {
  const reason =
    error instanceof TypeError && error.message.includes("not open") ? "closed" : unavailability(error);
  if (!reason || !(error instanceof Error)) throw error;
  return { ok: false, reason, detail: error.message };
}

const REASONS: readonly (readonly [string, Unavailable])[] = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_READONLY", "read_only"],
  ["SQLITE_PERM", "read_only"],
  ["SQLITE_IOERR", "io_error"],
  ["SQLITE_CANTOPEN", "io_error"],
  ["SQLITE_CORRUPT", "corrupt"],
  ["SQLITE_NOTADB", "corrupt"],
];
