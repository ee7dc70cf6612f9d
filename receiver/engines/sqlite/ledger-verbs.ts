import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import type { EventFilter, Page } from "../../engine.ts";
import { backup, check } from "./care.ts";
import { createCounts } from "./counts.ts";
import { announcedHandlers } from "./handlers.ts";
import { createObjectIndex } from "./object-index.ts";
import { createQueries } from "./queries.ts";
import { createRetention } from "./retention.ts";
import { createTransactions } from "./transactions.ts";
import { createRequeue } from "./requeue.ts";

/** After each batch that is deleted, acknowledgements and handlers have the locks for so long. */
const PAUSE_MS = 10;

const FIND_PRUNED_BEFORE = `SELECT pruned_before_ms FROM identity`;
const GET_BOOKMARK = `SELECT value FROM bookmarks WHERE name = ?`;
const SET_BOOKMARK = `INSERT INTO bookmarks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const DELETE_BOOKMARK = `DELETE FROM bookmarks WHERE name = ?`;

export type LedgerVerbs = ReturnType<typeof createLedgerVerbs>;

/** The ledger's side of the engine, over connections of its own to both files. Each verb gets the asker's time first. */
export function createLedgerVerbs({
  inbox,
  db,
  clock,
}: {
  inbox: Database.Database;
  db: Database.Database;
  clock: Clock;
}) {
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
  const findPrunedBefore = inbox.prepare<[], number>(FIND_PRUNED_BEFORE).pluck();
  const getBookmark = inbox.prepare<[string], string>(GET_BOOKMARK).pluck();
  const setBookmark = inbox.prepare<[string, string]>(SET_BOOKMARK);
  const deleteBookmark = inbox.prepare<[string]>(DELETE_BOOKMARK);

  return {
    find: (_nowMs: number, id: string) => queries.find(id),
    body: (_nowMs: number, seq: number) => queries.body(seq),
    list: (_nowMs: number, filter: EventFilter, page: Page) => queries.list(filter, page),
    counts: (nowMs: number) => counts(nowMs),

    requeue: async (nowMs: number, ids: readonly string[], handler?: string) => {
      const seqs = new Set(ids.flatMap((id) => queries.seqOf(id) ?? []));
      return transactions.run(() => [...seqs].filter((seq) => requeue(seq, handler, nowMs)).length);
    },
    handlers: (_nowMs: number) => announcedHandlers(db).map(({ name, types }) => ({ name, types })),
    prune: async (nowMs: number, older: { bodiesOlderThanMs: number; idsOlderThanMs: number }) => ({
      bodies: await retention.pruneBodies(nowMs - older.bodiesOlderThanMs),
      ids: await retention.pruneIds(nowMs - older.idsOlderThanMs),
    }),

    known: (_nowMs: number, type: string, objectIds: readonly string[]) => {
      objects.extend();
      return new Set(objectIds.filter((objectId) => objects.find(type, objectId) !== undefined));
    },
    prunedBeforeMs: (_nowMs: number) => findPrunedBefore.get() ?? 0,
    bookmark: (_nowMs: number, name: string) => getBookmark.get(name),
    setBookmark: (_nowMs: number, name: string, value: string | undefined): void => {
      if (value === undefined) deleteBookmark.run(name);
      else setBookmark.run(name, value);
    },

    check: (_nowMs: number) => check({ inbox, db }),
    backup: (_nowMs: number, directory: string) => backup({ inbox, db, directory }),
  };
}
