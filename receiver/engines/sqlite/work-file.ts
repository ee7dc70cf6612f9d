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
];

const FIND_PAIR = `SELECT pair FROM identity`;
const FIND_MOVED_TO = `SELECT value FROM bookmarks WHERE name = '${MOVED_TO}'`;
const FIND_LAST_SEQ = `SELECT coalesce(max(seq), 0) FROM events`;
const FIND_POSITION = `SELECT seq, pair FROM position`;
const INSERT_POSITION = `INSERT INTO position (seq, deleted, pair) SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM position)`;
const FIND_KEPT = `SELECT seq FROM events WHERE body IS NOT NULL AND seq <= ?`;
const INSERT_HANDLED = `INSERT INTO work (seq, state, attempts, token, finished_at_ms) VALUES (?, 'done', 0, 0, 0)`;

/** `data/receiver.db` has its work in `data/receiver.work.db`. */
export function workFileOf(inboxFile: string): string {
  return inboxFile.replace(/(\.[^./\\]+)?$/, (extension) => `.work${extension || ".db"}`);
}

/**
 * Opens the work file that belongs to the inbox file open as `inbox`, and refuses any other. A work file that is gone
 * while the inbox holds events is not made anew by itself, or all of them would be handled a second time:
 * `whenLost` says what shall be thought of the events that are there, once somebody has decided.
 */
export function openWorkFile(options: {
  file: string;
  inbox: Database.Database;
  busyTimeoutMs: number;
  whenLost?: "handle-again" | "consider-handled";
}): Database.Database {
  const { file, inbox, whenLost } = options;
  const movedTo = inbox.prepare<[], string>(FIND_MOVED_TO).pluck().get();
  if (movedTo !== undefined) throw new Moved(inbox.name, movedTo);
  const findLastSeq = inbox.prepare<[], number>(FIND_LAST_SEQ).pluck();
  const lastSeq = findLastSeq.get() ?? 0;
  const mayBegin = lastSeq === 0 || whenLost !== undefined;
  if (!existsSync(file) && !mayBegin) throw new WorkFileLost(file, inbox.name);

  const db = openDatabase({ ...options, synchronous: "NORMAL", pageBytes: 4_096, migrations: MIGRATIONS });
  try {
    const pair = inbox.prepare<[], string>(FIND_PAIR).pluck().get() ?? "";
    const findPosition = db.prepare<[], { seq: number; pair: string }>(FIND_POSITION);
    if (!findPosition.get()) {
      if (!mayBegin) throw new WorkFileLost(file, inbox.name);
      begin(db, inbox, { pair, handledUpToSeq: whenLost === "consider-handled" ? lastSeq : 0 });
    }
    const position = findPosition.get();
    // One that is ahead of its inbox would pass over new events without a word. Both may move while this looks, so the
    // inbox is asked again after the position.
    if (position?.pair !== pair || position.seq > (findLastSeq.get() ?? 0))
      throw new Strangers(file, inbox.name);
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

/** The work file is gone and its inbox is not: nobody but the operator can know what was handled. */
export class WorkFileLost extends Error {
  override readonly name = "WorkFileLost";

  constructor(file: string, inboxFile: string) {
    super(
      `${file} is gone, but ${inboxFile} holds events: without it nobody knows which of them were handled. ` +
        `Restore it from the backup that ${inboxFile} comes from. If there is none: \`recover --handle-again\` ` +
        "handles every stored event once more, `recover --consider-handled` none of them.",
    );
  }
}

class Moved extends Error {
  override readonly name = "Moved";

  constructor(inboxFile: string, to: string) {
    super(`The inbox ${inboxFile} was moved to ${to}: set DATABASE_URL to that.`);
  }
}

class Strangers extends Error {
  override readonly name = "Strangers";

  constructor(file: string, inboxFile: string) {
    super(`${file} does not belong to ${inboxFile}. Restore both files from one backup.`);
  }
}
