import type { Counts } from "../../engine.ts";
import type { Files } from "./database.ts";

const SEQ = `job / 1024`;
const SET_ASIDE = `jobs INDEXED BY jobs_set_aside WHERE state IN ('dead', 'ignored') AND state =`;
const WAITING = `jobs INDEXED BY jobs_waiting WHERE due_at_ms IS NOT NULL`;
const CLAIMED = `jobs INDEXED BY jobs_claimed WHERE worker IS NOT NULL`;
const HELD = `jobs INDEXED BY jobs_keyed WHERE key IS NOT NULL AND state = 'held'`;
const UNFINISHED = `
  SELECT ${SEQ} AS seq FROM ${WAITING} UNION SELECT ${SEQ} FROM ${CLAIMED} UNION SELECT ${SEQ} FROM ${HELD}`;
const OTHERS = `SELECT 1 FROM jobs WHERE jobs.job BETWEEN aside.job / 1024 * 1024 AND aside.job / 1024 * 1024 + 1023`;

const FIND_NEXT = `SELECT min(seq) FROM events WHERE seq > ?`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ?`;

type Row = Record<"claimed" | "unfinished" | "dead" | "ignored", number>;

/** Answers how many events there are in each state. `done`, which most are, is not counted: it is what the others leave. */
export function createCounts({ inbox, db }: Files) {
  const findPosition = db.prepare<[], { seq: number; deleted: number }>(`SELECT seq, deleted FROM position`);
  const findLastSeq = inbox.prepare<[], number>(`SELECT coalesce(max(seq), 0) FROM events`).pluck();
  const count = db.prepare<[], Row>(`
    SELECT
      (SELECT count(DISTINCT ${SEQ}) FROM ${CLAIMED}) AS claimed,
      (SELECT count(*) FROM (${UNFINISHED})) AS unfinished,
      (SELECT count(DISTINCT ${SEQ}) FROM (SELECT job FROM ${SET_ASIDE} 'dead') AS aside WHERE NOT EXISTS (
        ${OTHERS} AND (due_at_ms IS NOT NULL OR state = 'claimed' OR state = 'held'))) AS dead,
      (SELECT count(*) FROM ${SET_ASIDE} 'ignored' AND job & 1023 = 0)
        + (SELECT count(DISTINCT ${SEQ}) FROM (SELECT job FROM ${SET_ASIDE} 'ignored' AND job & 1023 <> 0) AS aside
          WHERE NOT EXISTS (${OTHERS} AND state <> 'ignored')) AS ignored`);
  const findOldestUnfinished = db.prepare<[], number | null>(`SELECT min(seq) FROM (${UNFINISHED})`).pluck();
  const findNext = inbox.prepare<[number], number | null>(FIND_NEXT).pluck();
  const findReceivedAt = inbox.prepare<[number], number>(FIND_RECEIVED_AT).pluck();
  const byHandler = db.prepare<[], Counts["byHandler"][number]>(`
    SELECT name AS handler, sum(state = 'pending') AS pending, sum(state = 'claimed') AS claimed,
      sum(state = 'dead') AS dead, sum(state = 'ignored') AS ignored
    FROM (
      SELECT handler AS number, 'pending' AS state FROM ${WAITING}
      UNION ALL SELECT handler, 'pending' FROM ${HELD}
      UNION ALL SELECT handler, 'claimed' FROM ${CLAIMED}
      UNION ALL SELECT job & 1023, state FROM ${SET_ASIDE} 'dead'
      UNION ALL SELECT job & 1023, state FROM ${SET_ASIDE} 'ignored' AND job & 1023 <> 0
    ) JOIN handlers USING (number) GROUP BY name ORDER BY name`);

  // In one transaction, so that nothing is counted twice or not at all.
  const countJobs = db.transaction(() => ({
    position: findPosition.get() ?? { seq: 0, deleted: 0 },
    row: count.get() ?? { claimed: 0, unfinished: 0, dead: 0, ignored: 0 },
    oldestSeq: findOldestUnfinished.get(),
    byHandler: byHandler.all(),
  }));

  return (nowMs: number): Counts => {
    const { position, row, oldestSeq, byHandler: jobs } = countJobs();
    const { claimed, unfinished, dead, ignored } = row;
    // No seq is left out, so what lies beyond the position need not be counted.
    const arrived = Math.max(0, (findLastSeq.get() ?? 0) - position.seq);
    const done = Math.max(0, position.seq - position.deleted - unfinished - dead - ignored);
    const oldest = oldestSeq ?? findNext.get(position.seq);
    const receivedAtMs = typeof oldest === "number" ? findReceivedAt.get(oldest) : undefined;
    return {
      byState: { pending: unfinished - claimed + arrived, claimed, done, ignored, dead },
      byHandler: jobs,
      oldestUnfinishedAgeMs: receivedAtMs === undefined ? null : Math.max(0, nowMs - receivedAtMs),
    };
  };
}
