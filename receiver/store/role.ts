import { realpathSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import Database from "better-sqlite3";
import type { Clock } from "../clock.ts";
import { unavailability, type DatabaseFile } from "./database.ts";
import { prepareFile } from "./files.ts";
import { refuseTransactionControl } from "./handler-sql.ts";
import { endingOfCrash, GONE } from "./job-rules.ts";
import type { JobHandler, Jobs } from "./port.ts";
import type { Queue, Running } from "./jobs.ts";
import { LATEST_EVENT, UNWANTED } from "./schema.ts";

/** How often a waiting worker tries to get the lock. */
const STANDBY_MS = 100;

/** Events that get their jobs in one transaction. */
const BATCH = 200;
/** New handlers get at most this many recent events: after a clock was set back, all events could look recent. */
const MOST_RECENT = 10_000;

const ANNOUNCE = `
  INSERT INTO handlers (name, types, key, announced) VALUES ($name, $types, $key, $announced)
  ON CONFLICT (name) DO UPDATE SET types = $types, key = $key, announced = $announced`;
const FIND_MIGRATIONS = `SELECT migrations FROM handlers WHERE name = ?`;
const COUNT_MIGRATION = `
  INSERT INTO handlers (name, types, key, migrations) VALUES (?, '[]', '[]', 1)
  ON CONFLICT (name) DO UPDATE SET migrations = migrations + 1`;
const LIST_RUNNING = `
  SELECT event, handler, attempts AS attempt, jobs.key, errors
  FROM handlers CROSS JOIN jobs INDEXED BY jobs_open ON handler = number WHERE state = 'running' AND state <> 'done'`;
const IGNORE_GONE = `
  UPDATE jobs SET state = 'ignored', due_at_ms = 0, finished_at_ms = $nowMs, cause = $reason
  WHERE state IN ('waiting', 'running') AND state <> 'done'
    AND handler IN (SELECT number FROM handlers WHERE announced < $announced)`;
const LIST_SINCE = `
  SELECT seq, type, body FROM events WHERE seq > $after AND received_at_ms > $sinceMs AND body IS NOT NULL
  ORDER BY seq LIMIT ${String(BATCH)}`;

/** Where the events begin that still need jobs. */
type From = { after: number; sinceMs: number };

/**
 * The role of the one worker. Its process holds a lock beside the database until it ends. So a process that gets the lock
 * knows that no attempt of an earlier worker still runs.
 */
export function createWorkerRole(
  { db, write }: DatabaseFile,
  queue: Queue,
  clock: Clock,
  awaySinceMs: number,
): Pick<Jobs, "begin"> & { resign: () => void } {
  const setAnnounced = db.prepare<[Record<string, string | number>]>(ANNOUNCE);
  const findMigrations = db.prepare<[string], number>(FIND_MIGRATIONS).pluck();
  const countMigration = db.prepare<[string]>(COUNT_MIGRATION);
  const listRunning = db.prepare<[], Running>(LIST_RUNNING);
  const ignoreGone = db.prepare<[Record<string, string | number>]>(IGNORE_GONE);
  const findLatest = db.prepare<[], number>(LATEST_EVENT).pluck();
  const listSince = db.prepare<[From], { seq: number; type: string; body: Buffer }>(LIST_SINCE);
  let lock: Database.Database | undefined;

  return {
    begin: async (handlers, signal) => {
      lock = await takeLock(`${realpathSync(db.name)}-lock`, clock, signal);
      for (const handler of handlers) await migrate(handler);
      const { announced, handlers: known } = queue.announced();
      const isFirst = announced === 0;
      const isKnown = ({ name, types }: JobHandler): boolean =>
        known.some((one) => one.name === name && isDeepStrictEqual(one.types, types));
      const newcomers = handlers.filter((handler) => !isKnown(handler));
      // Before the first announcement no event has jobs. Later, new handlers lack those of events stored while no worker ran.
      const from = isFirst
        ? { after: 0, sinceMs: 0 }
        : { after: (findLatest.get() ?? 0) - MOST_RECENT, sinceMs: awaySinceMs };
      const offerNext = (announcement: number): number =>
        isFirst || newcomers.length > 0 ? offer(newcomers, announcement, from) : 0;
      // Stored events get their jobs in small transactions; the rest are done in the transaction of the announcement.
      while ((await write(() => offerNext(0))) === BATCH);
      await write(() => {
        announce(handlers, announced + 1);
        while (offerNext(announced + 1) === BATCH);
      });
    },
    resign: () => void lock?.close(),
  };

  async function migrate({ name, migrations }: JobHandler): Promise<void> {
    for (const [index, migration] of migrations.entries()) {
      const text = typeof migration === "string" ? migration : migration.sqlite;
      await write(() => {
        if ((findMigrations.get(name) ?? 0) > index) return;
        refuseTransactionControl(text);
        db.exec(text);
        countMigration.run(name);
      }).catch((cause: unknown) => {
        throw new Error(`migration ${String(index + 1)} of ${name} failed: ${String(cause)}`, { cause });
      });
    }
  }

  /** Makes the missing jobs of a batch of events, and moves `from` beyond it. Returns how many events it held. */
  function offer(handlers: readonly JobHandler[], announced: number, from: From): number {
    const numbered = handlers.map((handler) => ({ ...handler, number: announceOne(handler, announced) }));
    const events = listSince.all(from);
    for (const { seq, type, body } of events) {
      const event = { seq, type, envelope: JSON.parse(body.toString("utf8")) as unknown };
      if (!queue.offer(event, numbered, clock.nowMs())) queue.ignore(seq, clock.nowMs());
    }
    from.after = events.at(-1)?.seq ?? from.after;
    return events.length;
  }

  function announce(handlers: readonly JobHandler[], announced: number): void {
    // Also written to the row of unwanted events, so that a worker without handlers makes an announcement too.
    announceOne({ name: "", types: [], key: [] }, announced);
    const policies = new Map(handlers.map((handler) => [announceOne(handler, announced), handler]));
    const nowMs = clock.nowMs();
    ignoreGone.run({ nowMs, announced, reason: GONE });
    for (const job of listRunning.all()) {
      const handler = policies.get(job.handler);
      if (handler) queue.end(job, endingOfCrash(job.attempt, handler), nowMs);
    }
  }

  /** Returns the handler's number. */
  function announceOne(handler: Pick<JobHandler, "name" | "types" | "key">, announced: number): number {
    const { name, types, key } = handler;
    setAnnounced.run({ name, types: JSON.stringify(types), key: JSON.stringify(key), announced });
    return queue.numberOf(name) ?? UNWANTED;
  }
}

/** Waits until no other process has the lock. Closing the connection or ending the process releases it. */
async function takeLock(path: string, clock: Clock, signal: AbortSignal): Promise<Database.Database> {
  prepareFile(path);
  const lock = new Database(path, { timeout: 0 });
  for (;;) {
    try {
      signal.throwIfAborted();
      // It is never written to, so it needs no journal file.
      lock.pragma("journal_mode = MEMORY");
      lock.exec("BEGIN EXCLUSIVE");
      return lock;
    } catch (error) {
      if (unavailability(error) !== "busy") {
        lock.close();
        throw error;
      }
      await clock.sleep(STANDBY_MS, signal);
    }
  }
}
