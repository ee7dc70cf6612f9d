import type Database from "better-sqlite3";
import { openDatabase } from "./database.ts";

/**
 * The work file: what became of each event, and the tables of the handlers. It stands beside the inbox file because
 * SQLite has one write lock a file, and a handler in the middle of a transaction must not hold the one that
 * acknowledgements wait for.
 *
 * It runs with `synchronous = NORMAL`: a power cut may take it back a moment, but then it takes `done`, the effects
 * written with it and the position in the inbox back together, and the events concerned are simply handled again.
 */
const MIGRATIONS = [
  `
  CREATE TABLE work (
    seq INTEGER PRIMARY KEY,              -- of the event in the inbox file
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'claimed', 'done', 'ignored', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,     -- fencing: only who holds the latest may write
    due_at_ms INTEGER NOT NULL DEFAULT 0, -- 0 is at once, whatever the clock says
    lease_until_ms INTEGER,
    worker TEXT,
    crashes INTEGER NOT NULL DEFAULT 0,   -- how often its worker vanished
    handled INTEGER NOT NULL DEFAULT 0,
    finished_at_ms INTEGER,
    last_error TEXT,
    type TEXT NOT NULL,
    ordering_key TEXT
  ) STRICT;
  CREATE INDEX work_due ON work (due_at_ms, seq) WHERE state = 'pending';
  CREATE INDEX work_claimed ON work (ordering_key) WHERE state = 'claimed';
  CREATE INDEX work_unfinished ON work (seq) WHERE state IN ('pending', 'claimed');
  CREATE INDEX work_by_state ON work (state, seq);

  -- How many events are in each state: counting a million of them would take a fifth of a second at every scrape.
  CREATE TABLE tallies (state TEXT PRIMARY KEY, events INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO tallies VALUES ('pending', 0), ('claimed', 0), ('done', 0), ('ignored', 0), ('dead', 0);
  CREATE TRIGGER work_inserted AFTER INSERT ON work BEGIN
    UPDATE tallies SET events = events + 1 WHERE state = new.state;
  END;
  CREATE TRIGGER work_moved AFTER UPDATE OF state ON work WHEN new.state <> old.state BEGIN
    UPDATE tallies SET events = events + (state = new.state) - (state = old.state) WHERE state IN (new.state, old.state);
  END;
  CREATE TRIGGER work_deleted AFTER DELETE ON work BEGIN
    UPDATE tallies SET events = events - 1 WHERE state = old.state;
  END;

  -- How far the inbox file has been read.
  CREATE TABLE position (seq INTEGER NOT NULL, pair TEXT NOT NULL) STRICT;
  `,
];

/** Opens the work file that belongs to the inbox file open as `inbox`, and refuses any other. */
export function openWorkFile(options: {
  file: string;
  inbox: Database.Database;
  busyTimeoutMs: number;
}): Database.Database {
  const db = openDatabase({ ...options, migrations: MIGRATIONS, synchronous: "NORMAL" });
  try {
    refuseStrangers(db, options);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const FIND_PAIR = `SELECT pair FROM identity`;
const FIND_LAST_SEQ = `SELECT seq FROM sqlite_sequence WHERE name = 'events'`;
const FIND_POSITION = `SELECT seq, pair FROM position`;
const INSERT_POSITION = `INSERT INTO position (seq, pair) SELECT 0, ? WHERE NOT EXISTS (SELECT 1 FROM position)`;

/** A work file that is ahead of its inbox would pass over new events without a word. */
function refuseStrangers(
  db: Database.Database,
  { file, inbox }: { file: string; inbox: Database.Database },
): void {
  const pair = inbox.prepare<[], { pair: string }>(FIND_PAIR).get()?.pair ?? "";
  const findPosition = db.prepare<[], { seq: number; pair: string }>(FIND_POSITION);
  if (!findPosition.get()) db.prepare<[string]>(INSERT_POSITION).run(pair);
  const position = findPosition.get();
  const lastSeq = inbox.prepare<[], { seq: number }>(FIND_LAST_SEQ).get()?.seq ?? 0;
  if (position?.pair !== pair || position.seq > lastSeq) {
    throw new Error(
      `${file} does not belong to ${inbox.name}: ${position?.pair === pair ? "it is newer" : "they come from different inboxes"}. Restore both files from one backup.`,
    );
  }
}
