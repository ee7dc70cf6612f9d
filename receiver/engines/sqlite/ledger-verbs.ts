import type { Clock } from "../../clock.ts";
import type { Ledger } from "../../engine.ts";
import { backup, check } from "./care.ts";
import { createCounts } from "./counts.ts";
import type { Files } from "./database.ts";
import { announcedHandlers, HANDLERS_PER_EVENT, wants } from "./handlers.ts";
import { createObjectIndex } from "./object-index.ts";
import { createQueries } from "./queries.ts";
import { createRetention } from "./retention.ts";
import { createTransactions } from "./transactions.ts";

/** Pause after each deleted batch, in which acknowledgements and handlers get the locks. */
const PAUSE_MS = 10;

const SET_BOOKMARK = `INSERT INTO bookmarks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

const LIST_JOBS = `SELECT handler, state FROM jobs WHERE job BETWEEN ? AND ?`;
const ADD = `INSERT INTO jobs (job, state, attempts, token, due_at_ms, requeued_at_ms) VALUES (?, 'offered', 0, 0, 0, ?)`;
const REMOVE_IGNORED = `DELETE FROM jobs WHERE job = ? AND (state = 'dead' OR state = 'ignored')`;
const FIND_TYPE = `SELECT type FROM events WHERE seq = ? AND body IS NOT NULL`;

/** What operators ask and do, over connections of its own to both files. */
export function createLedgerVerbs({ inbox, db, clock }: Files & { clock: Clock }): Required<Ledger> {
  const transactions = createTransactions(db, clock);
  const queries = createQueries({ inbox, db });
  const counts = createCounts({ inbox, db });
  const objects = createObjectIndex(inbox);
  const retention = createRetention({
    inbox,
    db,
    write: transactions.run,
    pause: async () => clock.sleep(PAUSE_MS),
  });
  const requeue = createRequeue({ inbox, db });
  const findPrunedBefore = inbox.prepare<[], number>(`SELECT pruned_before_ms FROM identity`).pluck();
  const getBookmark = inbox.prepare<[string], string>(`SELECT value FROM bookmarks WHERE name = ?`).pluck();
  const setBookmark = inbox.prepare<[string, string]>(SET_BOOKMARK);
  const deleteBookmark = inbox.prepare<[string]>(`DELETE FROM bookmarks WHERE name = ?`);

  return {
    find: async (id) => queries.find(id),
    body: async (seq) => queries.body(seq),
    list: async (filter, page) => queries.list(filter, page),
    counts: async () => counts(clock.nowMs()),

    requeue: async (ids, handler) => {
      const seqs = new Set(ids.flatMap((id) => queries.seqOf(id) ?? []));
      return transactions.run(() => [...seqs].filter((seq) => requeue(seq, handler, clock.nowMs())).length);
    },
    handlers: async () => announcedHandlers(db).map(({ name, types }) => ({ name, types })),
    prune: async ({ bodiesOlderThanMs, idsOlderThanMs }) => {
      const nowMs = clock.nowMs();
      return {
        bodies: await retention.pruneBodies(nowMs - bodiesOlderThanMs),
        ids: await retention.pruneIds(nowMs - idsOlderThanMs),
      };
    },

    known: async (type, objectIds) => {
      objects.extend();
      return new Set(objectIds.filter((objectId) => objects.find(type, objectId) !== undefined));
    },
    prunedBeforeMs: async () => findPrunedBefore.get() ?? 0,
    bookmark: async (name) => getBookmark.get(name),
    setBookmark: async (name, value) => {
      if (value === undefined) deleteBookmark.run(name);
      else setBookmark.run(name, value);
    },

    check: async () => check({ inbox, db }),
    backup: async (directory) => backup({ inbox, db, directory }),
  };
}

/**
 * Answers a function that makes an event's dead or ignored jobs wait again, or only that of `handler`, which gets one if
 * it has none. False when that changed nothing. It wants a transaction of the caller's. Its jobs are offered to the
 * worker, since only a worker can tell a job's key.
 */
function createRequeue({ inbox, db }: Files) {
  const offer = db.prepare<[number, number]>(`
    UPDATE jobs SET state = 'offered', due_at_ms = 0, attempts = 0, crashes = 0, deferred = 0,
      finished_at_ms = NULL, last_error = NULL, requeued_at_ms = ?
    WHERE job = ? AND (state = 'dead' OR state = 'ignored')`);
  const listJobs = db.prepare<[number, number], { handler: number; state: string }>(LIST_JOBS);
  const add = db.prepare<[number, number]>(ADD);
  const addDead = db.prepare<[number, number]>(`
    INSERT INTO jobs (job, state, attempts, token, finished_at_ms, last_error)
    SELECT ?, state, attempts, token, finished_at_ms, last_error FROM jobs WHERE job = ? AND state = 'dead'`);
  const removeIgnored = db.prepare<[number]>(REMOVE_IGNORED);
  const findType = inbox.prepare<[number], string>(FIND_TYPE).pluck();
  const wasThere = db.prepare<[string], number>(`SELECT before_jobs FROM handlers WHERE name = ?`).pluck();

  return (seq: number, handler: string | undefined, nowMs: number): boolean => {
    const type = findType.get(seq);
    if (type === undefined) return false;
    const first = seq * HANDLERS_PER_EVENT;
    const jobs = listJobs.all(first, first + HANDLERS_PER_EVENT - 1);
    if (handler === undefined) {
      return jobs.filter(({ handler: number }) => offer.run(nowMs, first + number).changes === 1).length > 0;
    }
    const announced = announcedHandlers(db);
    const known = announced.find(({ name }) => name === handler);
    // An event that no worker has looked at gets its jobs anyway.
    if (!known || jobs.length === 0) return false;
    const [own] = jobs.filter(({ handler: number }) => number === known.number);
    if (own) return offer.run(nowMs, first + known.number).changes === 1;
    if (!wants(known.types, type)) return false;
    const [unassigned] = jobs.filter(({ handler: number }) => number === 0);
    if (unassigned?.state === "offered") return false;
    // Done before there were jobs, and by this handler, as far as anybody can know.
    if (unassigned?.state === "done" && wasThere.get(handler) === 1) return false;
    // Dead before there were jobs: for the others that want it, it stays so.
    for (const { number, types } of announced)
      if (unassigned && number !== known.number && wants(types, type)) addDead.run(first + number, first);
    removeIgnored.run(first);
    add.run(first + known.number, nowMs);
    return true;
  };
}
