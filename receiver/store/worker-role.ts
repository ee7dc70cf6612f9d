import { realpathSync } from "node:fs";
import Database from "better-sqlite3";
import type { Clock } from "../clock.ts";
import { createJobMaker } from "./announced.ts";
import { makePrivate, prepareFile, unavailability, type DatabaseFile } from "./database.ts";
import { endingOfCrash, GONE } from "./failures.ts";
import { refuseTransactionControl } from "./handler-sql.ts";
import type { EndRunning, Running } from "./jobs.ts";
import type { JobHandler, Jobs } from "./port.ts";
import { NOBODY } from "./schema.ts";

/** How often a worker that waits for another's end asks for the lock. */
const STANDBY_MS = 100;

/** Events that get their jobs in one transaction. */
const BATCH = 200;

/** How far the events that were stored before any announcement have their jobs. */
const CAUGHT_UP = "jobs made up to";

const FIND_HANDLER = `SELECT migrations FROM handlers WHERE name = ?`;
const ANNOUNCE = `
  INSERT INTO handlers (name, types, key, announced) VALUES ($name, $types, $key, $announced)
  ON CONFLICT (name) DO UPDATE SET types = $types, key = $key, announced = $announced`;
const COUNT_MIGRATION = `
  INSERT INTO handlers (name, types, key, migrations) VALUES (?, '[]', '[]', 1)
  ON CONFLICT (name) DO UPDATE SET migrations = migrations + 1`;
const LIST_RUNNING = `
  SELECT jobs.event, jobs.handler, jobs.attempts AS attempt, jobs.key, jobs.errors, name
  FROM jobs INDEXED BY jobs_unfinished JOIN handlers ON number = handler
  WHERE state IN ('waiting', 'running') AND state = 'running'`;
const IGNORE_GONE = `
  UPDATE jobs SET state = 'ignored', finished_at_ms = $nowMs, cause = $reason
  WHERE state IN ('waiting', 'running') AND handler IN (SELECT number FROM handlers WHERE announced < $announced)`;
const LIST_WITHOUT_JOBS = `
  SELECT seq, type, body FROM events WHERE seq > ? AND body IS NOT NULL ORDER BY seq LIMIT ${String(BATCH)}`;
const FIND_BOOKMARK = `SELECT value FROM bookmarks WHERE name = '${CAUGHT_UP}'`;
const SET_BOOKMARK = `
  INSERT INTO bookmarks VALUES ('${CAUGHT_UP}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/**
 * The role of the one worker. It holds a lock beside the database for as long as its process lives: a process that gets the
 * lock knows that no attempt of an earlier worker runs any more.
 */
export function createWorkerRole(options: {
  file: DatabaseFile;
  clock: Clock;
  endRunning: EndRunning;
}): Pick<Jobs, "begin"> & { resign: () => void } {
  const { clock, endRunning } = options;
  const { db, write } = options.file;
  const jobs = createJobMaker(db);
  const findHandler = db.prepare<[string], { migrations: number }>(FIND_HANDLER);
  const setAnnounced = db.prepare<[Record<string, unknown>]>(ANNOUNCE);
  const countMigration = db.prepare<[string]>(COUNT_MIGRATION);
  const listRunning = db.prepare<[], Running & { name: string }>(LIST_RUNNING);
  const ignoreGone = db.prepare<[Record<string, unknown>]>(IGNORE_GONE);
  const listWithoutJobs = db.prepare<[number], { seq: number; type: string; body: Buffer }>(
    LIST_WITHOUT_JOBS,
  );
  const findCaughtUp = db.prepare<[], string>(FIND_BOOKMARK).pluck();
  const setCaughtUp = db.prepare<[string]>(SET_BOOKMARK);
  let lock: Database.Database | undefined;

  return {
    begin: async (handlers, signal) => {
      lock = await takeLock(`${realpathSync(db.name)}-lock`, clock, signal);
      for (const handler of handlers) await migrate(handler);
      const isFirst = jobs.latest() === 0;
      // What is stored already gets its jobs in small transactions, and what is left with the announcement.
      if (isFirst) while ((await write(() => catchUp(handlers))) === BATCH);
      await write(() => announce(handlers, isFirst));
    },
    resign: () => void lock?.close(),
  };

  async function migrate({ name, migrations }: JobHandler): Promise<void> {
    for (const [index, migration] of migrations.entries()) {
      const text = typeof migration === "string" ? migration : migration.sqlite;
      await write(() => {
        if ((findHandler.get(name)?.migrations ?? 0) > index) return;
        refuseTransactionControl(text);
        db.exec(text);
        countMigration.run(name);
      }).catch((error: unknown) => {
        throw new Error(`migration ${String(index + 1)} of ${name} failed: ${String(error)}`, {
          cause: error,
        });
      });
    }
  }

  function announce(handlers: readonly JobHandler[], isFirst: boolean): void {
    const nowMs = clock.nowMs();
    if (isFirst) while (catchUp(handlers) === BATCH);
    const announced = jobs.latest() + 1;
    // Counted on the row of nobody too, so that a worker without handlers has announced that.
    setAnnounced.run({ name: "", types: "[]", key: "[]", announced });
    for (const handler of handlers) setAnnounced.run({ ...asRow(handler), announced });
    ignoreGone.run({ nowMs, announced, reason: GONE });
    const policies = new Map(handlers.map((handler) => [handler.name, handler]));
    for (const { name, ...row } of listRunning.all()) {
      const handler = policies.get(name);
      if (handler) endRunning(row, endingOfCrash(row.attempt, handler), nowMs);
    }
  }

  /** Makes jobs for a batch of events that were stored before any announcement. Returns how many events there were. */
  function catchUp(handlers: readonly JobHandler[]): number {
    for (const handler of handlers) setAnnounced.run({ ...asRow(handler), announced: 0 });
    const numbered = handlers.map((handler) => ({
      ...handler,
      number: jobs.numberOf(handler.name) ?? NOBODY,
    }));
    const events = listWithoutJobs.all(Number(findCaughtUp.get() ?? 0));
    for (const { seq, type, body } of events) {
      const event = { seq, type, envelope: JSON.parse(body.toString("utf8")) as unknown };
      if (jobs.addJobs(event, numbered, clock.nowMs()) === 0) jobs.addUnwanted(seq, clock.nowMs());
    }
    const last = events.at(-1);
    if (last) setCaughtUp.run(String(last.seq));
    return events.length;
  }
}

function asRow({ name, types, key }: JobHandler) {
  return { name, types: JSON.stringify(types), key: JSON.stringify(key) };
}

/** Waits until no other process has the lock. It is held until the connection is closed, or the process ends. */
async function takeLock(path: string, clock: Clock, signal: AbortSignal): Promise<Database.Database> {
  prepareFile(path);
  makePrivate(path);
  const lock = new Database(path, { timeout: 0 });
  for (;;) {
    try {
      signal.throwIfAborted();
      // Nothing is ever written to it, so it needs no journal beside it.
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
