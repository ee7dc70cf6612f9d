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

/** A handler's transaction may take this many microtasks. One that takes more waits for something other than its queries. */
const MOST_MICROTASKS = 10_000;

const FOREIGN_AWAIT =
  "atomically() may await its own queries and nothing else: the transaction ends within one turn of the event loop. Call the service before it, and write the result inside.";

export type DatabaseFile = {
  db: Database.Database;
  /**
   * Runs `work` in a transaction that all writes of the same turn of the event loop share; if it throws, only its own writes
   * are rolled back. `work` may be async if it ends within the turn. Waits up to 8 s for other processes, without blocking.
   */
  write: <Result>(work: (turn: Turn) => Result | Promise<Result>) => Promise<Result>;
  /** The log that the intake syncs. Rejects as busy if it is not free for 8 s; the next call tries again. */
  log: () => Promise<Log>;
  close: () => Promise<void>;
};

/** How long a transaction may be used. */
export type Turn = { isOver: boolean };

export type OpenOptions = {
  file: string;
  clock: Clock;
  /** Whether commits checkpoint the log. The worker does that, so that the intake does not wait for it. */
  checkpoints: boolean;
  /** Ends the process: committed data may not be on disk. */
  onFatal: (problem: string) => void;
};

/** Runs one `work` in the transaction and returns what to call after the commit. If it fails, `reject` gets the error. */
type Queued = { run: () => Promise<() => void>; reject: (error: unknown) => void };

/**
 * Opens the database file in WAL mode. A missing file is created, readable by its owner only. SQLite does not sync commits
 * (`synchronous = NORMAL`): the intake syncs the log itself.
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
    // Before any write: the file may belong to another program.
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
      // Everything written in this turn of the event loop goes into the same transaction.
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

  /** If a work fails, only its own writes are rolled back. */
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
      // On a full disk SQLite may have rolled back the whole transaction.
      if (!db.inTransaction) throw error;
      db.exec("ROLLBACK TO work; RELEASE work");
      return () => reject(error);
    }
  }
}

/** Waits for a promise by microtasks only, so that the event loop does not turn meanwhile. Rejects if they are not enough. */
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
 * Retries for up to 8 s while another process has the lock, without blocking. Most locks last less than a millisecond, so it
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

/** The reason behind an SQLite error; undefined if it is a bug. */
export function unavailability(error: unknown): Unavailable | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  return REASONS.find(([prefix]) => error.code.startsWith(prefix))?.[1];
}

/** The refusal for a database error. Rethrows other errors. */
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
