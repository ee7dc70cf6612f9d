import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import type { DatabaseFile } from "./database.ts";
import type { Objects } from "./events.ts";
import type { Ledger } from "./port.ts";
import type { Keyed, Queue } from "./jobs.ts";
import { bytesOfId, UNWANTED } from "./schema.ts";
import { createCounts, createViews } from "./views.ts";

/** Events changed, or rows pruned, in one transaction. */
const BATCH = 200;
const PRUNED_BEFORE = "pruned before";

const COLUMNS = `seq, type, body, EXISTS (SELECT 1 FROM jobs WHERE event = seq AND handler = ${String(UNWANTED)}) AS isUnwanted`;
const FIND_EVENT = `SELECT ${COLUMNS} FROM events WHERE id = $id UNION ALL SELECT ${COLUMNS} FROM events WHERE alias = $id`;
const OF_EVENT = `event = $seq AND handler <> ${String(UNWANTED)} AND ($handler IS NULL OR handler = $handler)`;
const REQUEUE = `
  UPDATE jobs SET state = 'waiting', due_at_ms = $nowMs, attempts = 0, deferred = 0, waiting_since_ms = $nowMs,
    finished_at_ms = NULL, cause = NULL
  WHERE ${OF_EVENT} AND (state = $state OR $state IS NULL AND state IN ('dead', 'ignored')) RETURNING event, handler, key`;
const DISCARD = `
  UPDATE jobs SET state = 'ignored', due_at_ms = 0, finished_at_ms = $nowMs, cause = $reason
  WHERE ${OF_EVENT} AND state IN ('waiting', 'dead') RETURNING event, handler, key`;
const GET_BOOKMARK = `SELECT value FROM bookmarks WHERE name = ?`;
const SET_BOOKMARK = `INSERT INTO bookmarks VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const DELETE_BOOKMARK = `DELETE FROM bookmarks WHERE name = ?`;

const FIND_NEXT = `SELECT seq, received_at_ms AS receivedAtMs FROM events WHERE seq >= ? ORDER BY seq LIMIT 1`;
const IS_PRUNABLE = `
  received_at_ms < $beforeMs AND body IS NOT NULL AND EXISTS (SELECT 1 FROM jobs WHERE event = seq)
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE event = seq AND state IN ('waiting', 'running', 'dead'))`;
const listOf = (condition: string): string =>
  `SELECT seq FROM events WHERE seq BETWEEN $from AND $from + ${String(BATCH)} - 1 AND ${condition}`;
const PRUNE = `
  UPDATE events SET body = NULL, duplicates = 0, handled = (SELECT max(handled) FROM jobs WHERE event = seq),
    type = iif(source = 'reconcile', type, NULL), object_id = iif(source = 'reconcile', object_id, NULL),
    source = iif(source = 'reconcile', source, NULL)
  WHERE seq = $seq AND ${IS_PRUNABLE}`;
const DELETE_JOBS = `DELETE FROM jobs WHERE event = ?`;
const DELETE_STEPS = `DELETE FROM steps WHERE event = ?`;
const IS_FORGETTABLE = `received_at_ms < $beforeMs AND body IS NULL`;
const DELETE_ID = `DELETE FROM events WHERE seq = ?`;

type EventRow = { seq: number; type: string; body: Buffer | null; isUnwanted: 0 | 1 };
const checkSchema = z.array(z.object({ quick_check: z.string() }));

/** What operators see and do, on the process's own connection, in slices that let other work through. */
export function createLedger(
  { db, write }: DatabaseFile,
  queue: Queue,
  objects: Objects,
  clock: Clock,
): Ledger {
  const findEvent = db.prepare<[{ id: Buffer }], EventRow>(FIND_EVENT);
  const requeueJobs = db.prepare<[Record<string, unknown>], Keyed>(REQUEUE);
  const discardJobs = db.prepare<[Record<string, unknown>], Keyed>(DISCARD);
  const getBookmark = db.prepare<[string], string>(GET_BOOKMARK).pluck();
  const setBookmark = db.prepare<[string, string]>(SET_BOOKMARK);
  const deleteBookmark = db.prepare<[string]>(DELETE_BOOKMARK);
  const findNext = db.prepare<[number], { seq: number; receivedAtMs: number }>(FIND_NEXT);
  const prune = db.prepare<[{ seq: number; beforeMs: number }]>(PRUNE);
  const deleteJobs = db.prepare<[number]>(DELETE_JOBS);
  const deleteSteps = db.prepare<[number]>(DELETE_STEPS);
  const deleteId = db.prepare<[number]>(DELETE_ID);
  const [listPrunable, listForgettable] = [prepareList(IS_PRUNABLE), prepareList(IS_FORGETTABLE)];
  const prunedBeforeMs = (): number => Number(getBookmark.get(PRUNED_BEFORE) ?? 0);

  return {
    ...createViews(db),
    counts: createCounts(db),
    handlers: async () => queue.announced().handlers.map(({ name, types }) => ({ name, types })),
    requeue: async (ids, handler, state) => changeEach(ids, handler, (...event) => requeue(...event, state)),
    discard: async (ids, { handler, reason }) =>
      changeEach(ids, handler, ({ seq }, number, nowMs) =>
        settled(discardJobs.all({ seq, handler: number, nowMs, reason }), nowMs),
      ),
    prune: async ({ bodiesMs, idsMs }) => ({
      bodies: await changeBefore(bodiesMs, listPrunable, (seq) => pruneBody(seq, bodiesMs)),
      ids: await changeBefore(idsMs, listForgettable, (seq) => deleteId.run(seq).changes > 0),
    }),
    prunedBeforeMs: async () => prunedBeforeMs(),
    known: objects.known,
    bookmark: async (name) => getBookmark.get(name),
    setBookmark: async (name, value) => {
      await write(() => (value === undefined ? deleteBookmark.run(name) : setBookmark.run(name, value)));
    },
    check: async () => {
      const found = checkSchema.parse(db.pragma("quick_check"));
      return found.map((row) => row.quick_check).filter((line) => line !== "ok");
    },
    backup: async (file) => void db.prepare("VACUUM INTO ?").run(file),
  };

  /** Calls `change` for each event, with the number of the named handler, if any. Returns how many changed. */
  async function changeEach(
    ids: readonly string[],
    handler: string | undefined,
    change: (event: EventRow, number: number | null, nowMs: number) => boolean,
  ): Promise<number> {
    const number = handler === undefined ? null : queue.numberOf(handler);
    if (number === undefined) return 0;
    let changed = 0;
    for (let at = 0; at < ids.length; at += BATCH) {
      const events = ids.slice(at, at + BATCH).map(bytesOfId);
      const changeOne = (id: Buffer): boolean => {
        const event = findEvent.get({ id });
        return event !== undefined && change(event, number, clock.nowMs());
      };
      changed += await write(() => events.filter(changeOne).length);
      await nextTurn();
    }
    return changed;
  }

  function requeue(event: EventRow, number: number | null, nowMs: number, state?: "done"): boolean {
    const { seq, type, body, isUnwanted } = event;
    if (!body) return false;
    if (settled(requeueJobs.all({ seq, handler: number, nowMs, state: state ?? null }), nowMs)) return true;
    // It gets jobs that it never had: for the named handler, or for all handlers if none had wanted it.
    const { handlers } = queue.announced();
    const offered = handlers.filter((one) => one.number === number || (number === null && isUnwanted === 1));
    const envelope: unknown = JSON.parse(body.toString("utf8"));
    return queue.offer({ seq, type, envelope }, offered, nowMs);
  }

  function settled(changed: readonly Keyed[], nowMs: number): boolean {
    for (const job of changed) queue.settle(job, nowMs);
    return changed.length > 0;
  }

  function prepareList(condition: string) {
    return db.prepare<[{ from: number; beforeMs: number }], number>(listOf(condition)).pluck();
  }

  /**
   * Changes the listed events that were received before a time. Events are stored in the order they arrive, so the walk ends
   * at the first newer one.
   */
  async function changeBefore(
    beforeMs: number,
    list: ReturnType<typeof prepareList>,
    change: (seq: number) => boolean,
  ): Promise<number> {
    let changed = 0;
    for (let from = 0; ; from += BATCH) {
      const next = findNext.get(from);
      if (!next || next.receivedAtMs >= beforeMs) return changed;
      from = next.seq;
      const seqs = list.all({ from, beforeMs });
      if (seqs.length > 0) changed += await write(() => seqs.filter(change).length);
      await nextTurn();
    }
  }

  /** Keeps only the id, to recognize a duplicate. The file does not shrink. */
  function pruneBody(seq: number, beforeMs: number): boolean {
    if (prune.run({ seq, beforeMs }).changes === 0) return false;
    setBookmark.run(PRUNED_BEFORE, String(Math.max(beforeMs, prunedBeforeMs())));
    deleteSteps.run(seq);
    deleteJobs.run(seq);
    return true;
  }
}
