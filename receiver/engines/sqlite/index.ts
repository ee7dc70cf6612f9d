import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import type { Engine } from "../../engine.ts";
import { backup, check } from "./care.ts";
import { createExclusive } from "./exclusive.ts";
import { idKey, openInboxFile } from "./inbox-file.ts";
import { createProcessor } from "./processor.ts";
import { createQueries } from "./queries.ts";
import { createPrune } from "./retention.ts";
import { createWork } from "./work.ts";
import { openWorkFile } from "./work-file.ts";
import { createWriter } from "./writer.ts";

/** This connection's waits happen on the caller's thread, so they are short. */
const BUSY_TIMEOUT_MS = 250;

/**
 * The engine that needs nothing but a directory: two SQLite files on a local disk, shared by any number of processes
 * on one machine. `file` is the inbox; the work file stands beside it as `….work.db`. `tables` are statements that
 * create the handlers' tables in the work file.
 */
export function createSqliteEngine(options: {
  file: string;
  clock: Clock;
  workerId: string;
  tables?: readonly string[];
  /** Another entry point for the writer thread; for tests that end the process in mid-commit. */
  writerThreadFile?: URL;
}): Engine {
  const { clock } = options;
  const inbox = openInboxFile({ file: options.file, synchronous: "NORMAL", busyTimeoutMs: BUSY_TIMEOUT_MS });
  const db = openWork(options.file, inbox);
  for (const sql of options.tables ?? []) db.exec(sql);

  const work = createWork(db, inbox);
  const exclusive = createExclusive(db, clock);
  const queries = createQueries({ inbox, db });
  const prune = createPrune({ inbox, db, exclusive, clock, keyOf: idKey });
  const bookmarks = createBookmarks(inbox);
  const writer = createWriter({ file: options.file, threadFile: options.writerThreadFile });

  return {
    accept: writer.accept,
    process: (processing) =>
      createProcessor({ db, inbox, work, exclusive, clock, workerId: options.workerId }, processing),
    release: async (workerId, limits) =>
      exclusive(() => work.release(workerId, { ...limits, nowMs: clock.nowMs() })),
    find: async (id) => queries.find(id),
    body: async (seq) => queries.body(seq),
    list: async (filter, page) => queries.list(filter, page),
    requeue: async (ids) =>
      exclusive(() => {
        const seqs = ids.flatMap((id) => queries.seqOf(id) ?? []);
        return seqs.filter((seq) => work.requeue(seq)).length;
      }),
    prune,
    counts: async () => queries.counts(),
    known: async (type, objectIds) => queries.known(type, objectIds),
    bookmarks,
    probe: async () => writer.accept([]).then((result) => (result.ok ? { ok: true } : result)),
    check: async () => check({ inbox, db }),
    backup: async (directory) => backup({ inbox, db, directory }),
    close: async () => {
      await writer.close();
      db.close();
      inbox.close();
    },
  };
}

function openWork(inboxFile: string, inbox: Database.Database): Database.Database {
  try {
    return openWorkFile({ file: workFileOf(inboxFile), inbox, busyTimeoutMs: BUSY_TIMEOUT_MS });
  } catch (error) {
    inbox.close();
    throw error;
  }
}

/** `data/receiver.db` has its work in `data/receiver.work.db`. */
function workFileOf(inboxFile: string): string {
  return inboxFile.replace(/(\.[^./\\]+)?$/, (extension) => `.work${extension || ".db"}`);
}

const GET_BOOKMARK = `SELECT value FROM bookmarks WHERE name = ?`;
const SET_BOOKMARK = `INSERT INTO bookmarks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const DELETE_BOOKMARK = `DELETE FROM bookmarks WHERE name = ?`;

function createBookmarks(inbox: Database.Database): Engine["bookmarks"] {
  const get = inbox.prepare<[string], { value: string }>(GET_BOOKMARK);
  const set = inbox.prepare<[string, string]>(SET_BOOKMARK);
  const remove = inbox.prepare<[string]>(DELETE_BOOKMARK);
  return {
    get: async (name) => get.get(name)?.value,
    set: async (name, value) => {
      if (value === undefined) remove.run(name);
      else set.run(name, value);
    },
  };
}
