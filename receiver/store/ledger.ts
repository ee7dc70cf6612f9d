import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { createJobMaker } from "./announced.ts";
import type { DatabaseFile } from "./database.ts";
import { createLedgerCounts } from "./ledger-counts.ts";
import { createViews } from "./ledger-views.ts";
import { createLanes } from "./lanes.ts";
import type { Ledger } from "./port.ts";
import { createRetention } from "./retention.ts";
import { bytesOfId, NOBODY } from "./schema.ts";

const FIND_EVENT = `SELECT seq, type, body FROM events WHERE id = $id UNION ALL SELECT seq, type, body FROM events WHERE alias = $id`;
const OF_EVENT = `event = $seq AND handler <> ${String(NOBODY)} AND ($handler IS NULL OR handler = $handler)`;
const REQUEUE = `
  UPDATE jobs SET state = 'waiting', due_at_ms = $nowMs, attempts = 0, deferred = 0, waiting_since_ms = $nowMs,
    finished_at_ms = NULL, cause = NULL
  WHERE ${OF_EVENT} AND state IN ('dead', 'ignored') RETURNING event, handler, key`;
const DISCARD = `
  UPDATE jobs SET state = 'ignored', finished_at_ms = $nowMs, cause = $reason
  WHERE ${OF_EVENT} AND state IN ('waiting', 'dead') RETURNING event, handler, key`;
const FORGET_UNWANTED = `DELETE FROM jobs WHERE event = ? AND handler = ${String(NOBODY)}`;
const COUNT_JOBS = `SELECT count(*) FROM jobs WHERE event = ?`;
const GET_BOOKMARK = `SELECT value FROM bookmarks WHERE name = ?`;
const SET_BOOKMARK = `
  INSERT INTO bookmarks VALUES ($name, $value) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const DELETE_BOOKMARK = `DELETE FROM bookmarks WHERE name = ?`;
const KNOWN = `SELECT 1 FROM events WHERE object_id = ? AND type = ? AND object_id IS NOT NULL LIMIT 1`;

const checkSchema = z.array(z.object({ quick_check: z.string() }));

/** Events changed in one transaction. */
const BATCH = 100;

type Changed = { event: number; handler: number; key: string | null };

/** What operators ask and do, over the connection of the process: in small pieces that let other work through. */
export function createLedger({ db, write }: DatabaseFile, clock: Clock): Ledger {
  const findEvent = db.prepare<[{ id: Buffer }], { seq: number; type: string; body: Buffer | null }>(
    FIND_EVENT,
  );
  const requeueJobs = db.prepare<[Record<string, unknown>], Changed>(REQUEUE);
  const discardJobs = db.prepare<[Record<string, unknown>], Changed>(DISCARD);
  const forgetUnwanted = db.prepare<[number]>(FORGET_UNWANTED);
  const countJobs = db.prepare<[number], number>(COUNT_JOBS).pluck();
  const getBookmark = db.prepare<[string], string>(GET_BOOKMARK).pluck();
  const setBookmark = db.prepare<[{ name: string; value: string }]>(SET_BOOKMARK);
  const deleteBookmark = db.prepare<[string]>(DELETE_BOOKMARK);
  const findKnown = db.prepare<[string, string], number>(KNOWN).pluck();
  const jobs = createJobMaker(db);
  const settleLane = createLanes(db);
  const views = createViews(db);
  const retention = createRetention({ db, write });

  return {
    ...views,
    ...retention,
    counts: createLedgerCounts(db),
    handlers: async () => jobs.announced().handlers.map(({ name, types }) => ({ name, types })),
    requeue: async (ids, handler) => changeEach(ids, (id) => requeue(id, handler)),
    discard: async (ids, { handler, reason }) => changeEach(ids, (id) => discard(id, handler, reason)),
    known: async (type, objectIds) =>
      new Set(objectIds.filter((objectId) => findKnown.get(objectId, type) !== undefined)),
    bookmark: async (name) => getBookmark.get(name),
    setBookmark: async (name, value) => {
      await write(() => (value === undefined ? deleteBookmark.run(name) : setBookmark.run({ name, value })));
    },
    check: async () => {
      const found = checkSchema.parse(db.pragma("quick_check"));
      return found.map((row) => row.quick_check).filter((line) => line !== "ok");
    },
    backup: async (file) => void db.prepare("VACUUM INTO ?").run(file),
  };

  /** Returns how many of the events have changed. */
  async function changeEach(ids: readonly string[], change: (id: string) => boolean): Promise<number> {
    let changed = 0;
    for (let at = 0; at < ids.length; at += BATCH) {
      changed += await write(() => ids.slice(at, at + BATCH).filter(change).length);
      await nextTurn();
    }
    return changed;
  }

  function requeue(id: string, handler: string | undefined): boolean {
    const event = findEvent.get({ id: bytesOfId(id) });
    const number = handler === undefined ? null : jobs.numberOf(handler);
    if (!event?.body || number === undefined) return false;
    const { seq, type, body } = event;
    const nowMs = clock.nowMs();
    const requeued = requeueJobs.all({ seq, handler: number, nowMs });
    for (const job of requeued) settleLane(job, nowMs);
    if (requeued.length > 0) return true;
    // It gets jobs that it never had: of the handler that was named, or of all if no handler had wanted it.
    const wasUnwanted = forgetUnwanted.run(seq).changes > 0;
    const before = countJobs.get(seq) ?? 0;
    const offered = jobs
      .announced()
      .handlers.filter((one) => one.number === number || (number === null && wasUnwanted));
    jobs.addJobs({ seq, type, envelope: JSON.parse(body.toString("utf8")) as unknown }, offered, nowMs);
    const isChanged = (countJobs.get(seq) ?? 0) > before;
    if (wasUnwanted && !isChanged) jobs.addUnwanted(seq, nowMs);
    return isChanged;
  }

  function discard(id: string, handler: string | undefined, reason: string): boolean {
    const event = findEvent.get({ id: bytesOfId(id) });
    const number = handler === undefined ? null : jobs.numberOf(handler);
    if (!event || number === undefined) return false;
    const nowMs = clock.nowMs();
    const discarded = discardJobs.all({ seq: event.seq, handler: number, nowMs, reason });
    for (const job of discarded) settleLane(job, nowMs);
    return discarded.length > 0;
  }
}
