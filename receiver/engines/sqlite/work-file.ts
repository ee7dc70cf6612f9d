import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type Database from "better-sqlite3";
import { openDatabase, syncDirectory } from "./database.ts";
import { MOVED_TO } from "./inbox-file.ts";

/**
 * The work file: what became of each event, and the tables of the handlers. It stands beside the inbox file because
 * SQLite has one write lock a file, and a handler in the middle of a transaction must not hold the one that
 * acknowledgements wait for.
 *
 * It runs with `synchronous = NORMAL`: a power cut may take it back a moment, but then it takes `done`, the effects
 * written with it and the position in the inbox back together, and the events concerned are simply handled again.
 * What must not be taken back, because the inbox file is going to forget something, is synced first: see retention.
 */
const MIGRATIONS = [
  `
  -- An event gets its row when it is claimed for the first time; those beyond the position have none, and are pending.
  CREATE TABLE work (
    seq INTEGER PRIMARY KEY,              -- of the event in the inbox file
    -- Not IN with a list: of more than two SQLite builds a table, anew for every row that is written.
    state TEXT NOT NULL CHECK (
      state = 'pending' OR state = 'claimed' OR state = 'done' OR state = 'ignored' OR state = 'dead' OR state = 'pruned'),
    attempts INTEGER NOT NULL,
    token INTEGER NOT NULL,               -- fencing: only who holds the latest may write
    worker INTEGER,                       -- who claimed it
    due_at_ms INTEGER,                    -- of a pending event; 0 is at once, whatever the clock says
    crashes INTEGER NOT NULL DEFAULT 0,   -- how often its worker vanished
    handled INTEGER NOT NULL DEFAULT 0,
    finished_at_ms INTEGER,
    last_error TEXT
  ) STRICT;
  CREATE INDEX work_due ON work (due_at_ms) WHERE state = 'pending';
  CREATE INDEX work_claimed ON work (worker) WHERE state = 'claimed';
  CREATE INDEX work_set_aside ON work (state, seq) WHERE state IN ('dead', 'ignored');

  -- Workers count their beats, so that others see whether they live.
  CREATE TABLE workers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, beat INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL
  ) STRICT;

  -- How far the inbox file has been read, and how many rows were deleted again.
  CREATE TABLE position (seq INTEGER NOT NULL, deleted INTEGER NOT NULL, pair TEXT NOT NULL) STRICT;

  CREATE TABLE handler_migrations (handler TEXT PRIMARY KEY, applied INTEGER NOT NULL) STRICT;
  `,
  `
  -- A handler keeps its number for good. Types are a JSON list, or '*'; null while the handler is gone.
  CREATE TABLE handlers (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, types TEXT,
    -- There when events were not split into jobs yet: it has handled what is done from then.
    before_jobs INTEGER NOT NULL
  ) STRICT;

  -- A job for each handler that wants an event, made when a worker first looks at the event; those beyond the position
  -- have none yet. Number 0 stands for an event that no handler wanted, or that was stored before there were jobs.
  CREATE TABLE jobs (
    job INTEGER PRIMARY KEY,              -- seq of the event * 1024 + number of the handler: new ones are appended
    -- Not IN with a list: of more than two SQLite builds a table, anew for every row that is written.
    state TEXT NOT NULL CHECK (
      state = 'offered'                   -- its handler, or each that wants the event if number is 0, has to look at it
      OR state = 'fresh'                  -- waits for its first attempt
      OR state = 'pending'                -- waits for another attempt
      OR state = 'suspect'                -- the same, alone: its worker vanished
      OR state = 'held'                   -- waits for one before it with the same key
      OR state = 'claimed' OR state = 'done' OR state = 'ignored' OR state = 'dead' OR state = 'pruned'),
    attempts INTEGER NOT NULL,
    token INTEGER NOT NULL,               -- fencing: how often it was claimed; only the latest claim may write
    worker INTEGER,                       -- who claimed it
    due_at_ms INTEGER,                    -- 0 is at once, whatever the clock says; null when it is held, claimed or finished
    deferred INTEGER NOT NULL DEFAULT 0,  -- put off by its handler
    crashes INTEGER NOT NULL DEFAULT 0,   -- how often its worker vanished since an attempt last ended by itself
    handled INTEGER NOT NULL DEFAULT 0,
    finished_at_ms INTEGER,
    last_error TEXT,
    key TEXT,                             -- while it is unfinished
    requeued_at_ms INTEGER,
    handler INTEGER AS (job & 1023) VIRTUAL
  ) STRICT;
  INSERT INTO jobs (job, state, attempts, token, due_at_ms, handled, finished_at_ms, last_error)
  SELECT seq * 1024, CASE WHEN state = 'pending' OR state = 'claimed' THEN 'offered' ELSE state END, attempts, token + 1,
    CASE state WHEN 'pending' THEN due_at_ms WHEN 'claimed' THEN 0 END, handled, finished_at_ms, last_error
  FROM work;
  DROP TABLE work;
  CREATE INDEX jobs_waiting ON jobs (state, handler, due_at_ms) WHERE due_at_ms IS NOT NULL;
  CREATE INDEX jobs_claimed ON jobs (worker) WHERE worker IS NOT NULL;
  CREATE INDEX jobs_keyed ON jobs (handler, key, state) WHERE key IS NOT NULL;
  CREATE INDEX jobs_set_aside ON jobs (state, job) WHERE state IN ('dead', 'ignored');

  CREATE TABLE steps (job INTEGER, name TEXT, result TEXT NOT NULL, PRIMARY KEY (job, name)) STRICT, WITHOUT ROWID;

  -- When attempts of handlers with a rate limit began.
  CREATE TABLE starts (handler INTEGER NOT NULL, at_ms INTEGER NOT NULL) STRICT;
  CREATE INDEX starts_by_time ON starts (handler, at_ms);

  -- Counts how often handlers were announced.
  ALTER TABLE position ADD COLUMN announced INTEGER NOT NULL DEFAULT 0;

  -- Handlers were known by the type of their events.
  ALTER TABLE handler_migrations RENAME TO type_migrations;
  CREATE TABLE handler_migrations (handler TEXT PRIMARY KEY, applied INTEGER NOT NULL) STRICT;
  `,
];

const FIND_MOVED_TO = `SELECT value FROM bookmarks WHERE name = '${MOVED_TO}'`;
const INSERT_POSITION = `INSERT INTO position (seq, deleted, pair) SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM position)`;
const FIND_KEPT = `SELECT seq FROM events WHERE body IS NOT NULL AND seq <= ?`;
const MOVE_BACK = `
  UPDATE position SET seq = $lastSeq, deleted = $lastSeq - (SELECT count(*) FROM (SELECT DISTINCT job / 1024 FROM jobs))`;
const INSERT_HANDLED = `INSERT INTO jobs (job, state, attempts, token, finished_at_ms) VALUES (? * 1024, 'done', 0, 0, 0)`;

/** `data/receiver.db` has its work in `data/receiver.work.db`. */
export function workFileOf(inboxFile: string): string {
  return inboxFile.replace(/(\.[^./\\]+)?$/, (extension) => `.work${extension || ".db"}`);
}

/** What to do with stored events when the work file is lost, and with it which of them were handled. */
export type WhenLost = "handle-again" | "consider-handled";

/**
 * Opens the work file that belongs to the inbox file open as `inbox`, and refuses any other. A work file that is gone
 * while the inbox holds events is not made anew by itself, or all of them would be handled a second time:
 * `whenLost` says what shall be thought of the events that are there, once somebody has decided.
 */
export function openWorkFile(options: {
  file: string;
  inbox: Database.Database;
  busyTimeoutMs: number;
  whenLost?: WhenLost | undefined;
}): Database.Database {
  const { file, inbox, whenLost } = options;
  const movedTo = inbox.prepare<[], string>(FIND_MOVED_TO).pluck().get();
  if (movedTo !== undefined)
    throw new Error(`The inbox ${inbox.name} was moved to ${movedTo}: set DATABASE_URL to that.`);
  const findLastSeq = inbox.prepare<[], number>(`SELECT coalesce(max(seq), 0) FROM events`).pluck();
  const lastSeq = findLastSeq.get() ?? 0;
  const mayBegin = lastSeq === 0 || whenLost !== undefined;
  if (!existsSync(file) && !mayBegin) throw workFileLost(file, inbox.name);

  const db = openDatabase({ ...options, synchronous: "NORMAL", pageBytes: 4_096, migrations: MIGRATIONS });
  try {
    const pair = inbox.prepare<[], string>(`SELECT pair FROM identity`).pluck().get() ?? "";
    const findPosition = db.prepare<[], { seq: number; pair: string }>(`SELECT seq, pair FROM position`);
    if (!findPosition.get()) {
      if (!mayBegin) throw workFileLost(file, inbox.name);
      begin(db, inbox, { pair, handledUpToSeq: whenLost === "consider-handled" ? lastSeq : 0 });
    }
    const position = findPosition.get();
    if (position?.pair !== pair)
      throw new Error(`${file} does not belong to ${inbox.name}. Restore both files from one backup.`);
    // A work file that is ahead of its inbox would skip new events silently. Both may change while this runs, so the
    // inbox is read again after the position.
    const nowLastSeq = findLastSeq.get() ?? 0;
    if (position.seq > nowLastSeq) {
      if (whenLost === undefined) throw inboxBehind(file, inbox.name);
      forgetBeyond(db, nowLastSeq);
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function begin(
  db: Database.Database,
  inbox: Database.Database,
  { pair, handledUpToSeq }: { pair: string; handledUpToSeq: number },
): void {
  db.transaction(() => {
    const insertHandled = db.prepare<[number]>(INSERT_HANDLED);
    let kept = 0;
    for (const seq of inbox.prepare<[number], number>(FIND_KEPT).pluck().iterate(handledUpToSeq)) {
      insertHandled.run(seq);
      kept += 1;
    }
    db.prepare<[number, number, string]>(INSERT_POSITION).run(handledUpToSeq, handledUpToSeq - kept, pair);
  }).immediate();
  // On disk before the first event is acknowledged, or a power cut could look like a lost file.
  db.pragma("wal_checkpoint(TRUNCATE)");
  syncDirectory(dirname(db.name));
}

/** The inbox has lost its newest events: the next ones get their numbers. What is known of the others stays. */
function forgetBeyond(db: Database.Database, lastSeq: number): void {
  db.transaction(() => {
    db.prepare<[number]>(`DELETE FROM jobs WHERE job >= (? + 1) * 1024`).run(lastSeq);
    db.prepare<[number]>(`DELETE FROM steps WHERE job >= (? + 1) * 1024`).run(lastSeq);
    db.prepare<[{ lastSeq: number }]>(MOVE_BACK).run({ lastSeq });
  }).immediate();
  db.pragma("wal_checkpoint(TRUNCATE)");
}

/** Nobody but the operator can know what was handled. */
function workFileLost(file: string, inboxFile: string): Error {
  return new Error(
    `${file} is gone, but ${inboxFile} holds events: without it nobody knows which of them were handled. ` +
      `Restore it from the backup that ${inboxFile} comes from. If there is none: \`recover --handle-again\` ` +
      "handles every stored event once more, `recover --consider-handled` none of them.",
  );
}

function inboxBehind(file: string, inboxFile: string): Error {
  return new Error(
    `${inboxFile} has lost its newest events: ${file} does not belong to what is left of it. Restore both files from one backup, ` +
      `or put back ${inboxFile}-wal. If there is neither, \`recover --handle-again\` goes on with what is left; \`reconcile\` then brings what is missing.`,
  );
}
