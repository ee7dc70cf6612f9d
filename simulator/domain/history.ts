import type { Database } from "better-sqlite3";
import { SCHEDULE_SECONDS } from "./retry-policy.ts";
import { LAST } from "./delivery-search.ts";
import type { DeliveryState } from "./outcome.ts";
import type { historySchema } from "./shapes.ts";
import type { Kept } from "./spelling.ts";

export type HistorySearch = {
  /** From the first delivery on if absent. */
  sinceMs: number | undefined;
  untilMs: number;
  endpointId?: string | undefined;
  type?: string | undefined;
};

export type History = ReturnType<typeof createHistory>;

const NOTHING = { sent: 0, ended: 0, acknowledged: 0, totalMs: 0, longestMs: 0 };
type SlotRow = typeof NOTHING & { slot: number };

const SLOTS = 60;
const SHORTEST_SLOT_MS = 1_000;
/** Deliveries counted in one turn of the event loop: some milliseconds. */
const SLICE = 2_000;
/** The longest time between a delivery's creation and its last attempt: the schedule, and some time for each attempt. */
const LONGEST_DELIVERY_MS = (SCHEDULE_SECONDS + 3_600) * 1_000;

const FITS = `d.seq > @from AND d.seq <= @to AND d.endpoint_id = coalesce(@endpointId, d.endpoint_id)
  AND d.event_type = coalesce(@type, d.event_type)`;
const COUNT_ATTEMPTS = `
  SELECT CAST((a.started_at - @sinceMs) / @slotMs AS INTEGER) AS slot, count(*) AS sent, count(a.ended_at) AS ended,
    sum(coalesce(a.http_status BETWEEN 200 AND 299, 0)) AS acknowledged, sum(coalesce(a.duration_ms, 0)) AS totalMs,
    max(coalesce(a.duration_ms, 0)) AS longestMs
  FROM deliveries d JOIN attempts a ON a.delivery_seq = d.seq
  WHERE ${FITS} AND a.started_at >= @sinceMs AND a.started_at <= @untilMs GROUP BY 1`;
const COUNT_CREATED = `
  SELECT d.state, count(*) AS count, sum(d.state = 'dead' AND ${LAST}) AS lost FROM deliveries d
  WHERE ${FITS} AND d.created_at >= @sinceMs AND d.created_at <= @untilMs GROUP BY 1`;
const NEWEST = `SELECT seq, created_at AS createdAtMs FROM deliveries WHERE seq <= ? ORDER BY seq DESC LIMIT 1`;
const FIRST = `SELECT created_at FROM deliveries ORDER BY seq LIMIT 1`;

/** The sent, acknowledged and failed attempts of a period, in at most 60 slots; due attempts are made between slices. */
export function createHistory(database: Database, giveWay: () => Promise<unknown>) {
  const attempts = database.prepare<[object], SlotRow>(COUNT_ATTEMPTS);
  const created = database.prepare<[object], { state: DeliveryState; count: number; lost: number }>(
    COUNT_CREATED,
  );
  const newest = database.prepare<[number], { seq: number; createdAtMs: number }>(NEWEST);
  const first = database.prepare<[], number>(FIRST).pluck();

  return async ({ endpointId, type, ...period }: HistorySearch): Promise<Kept<typeof historySchema>> => {
    const { untilMs, sinceMs = Math.min(first.get() ?? untilMs, untilMs) } = period;
    const slotMs = Math.max(SHORTEST_SLOT_MS, Math.ceil((untilMs - sinceMs + 1) / SLOTS));
    const count = Math.floor((untilMs - sinceMs) / slotMs) + 1;
    const sums = Array.from({ length: count }, () => ({ ...NOTHING }));
    const total = { attempting: 0, delivered: 0, dead: 0 };
    let lost = 0;
    const asked = { sinceMs, untilMs, slotMs, endpointId: endpointId ?? null, type: type ?? null };
    for (let at = newest.get(Number.MAX_SAFE_INTEGER); at !== undefined;) {
      if (at.createdAtMs < sinceMs - LONGEST_DELIVERY_MS) break;
      const slice = { ...asked, from: at.seq - SLICE, to: at.seq };
      for (const row of attempts.all(slice)) {
        const sum = sums[row.slot];
        if (sum === undefined) continue;
        for (const name of ["sent", "ended", "acknowledged", "totalMs"] as const) sum[name] += row[name];
        sum.longestMs = Math.max(sum.longestMs, row.longestMs);
      }
      for (const row of created.all(slice)) {
        total[row.state] += row.count;
        lost += row.lost;
      }
      await giveWay();
      at = newest.get(slice.from);
    }
    const slots = sums.map(({ sent, ended, acknowledged, totalMs, longestMs }, index) => ({
      startedAtMs: sinceMs + index * slotMs,
      sent,
      acknowledged,
      failed: ended - acknowledged,
      meanMs: ended === 0 ? null : Math.round(totalMs / ended),
      longestMs: ended === 0 ? null : longestMs,
    }));
    return { slotSeconds: slotMs / 1_000, deliveries: total, lost, slots };
  };
}
