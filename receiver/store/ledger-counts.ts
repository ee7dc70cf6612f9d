import { setImmediate as nextTurn } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { Counts, HandlerCounts } from "./port.ts";

/** Jobs that are counted in one turn of the event loop. */
const SLICE = 5_000;

const LIST_HANDLERS = `
  SELECT number, name, announced > 0 AND announced = (SELECT max(announced) FROM handlers) AS isAnnounced FROM handlers ORDER BY name`;
const COUNT_EVENTS = `SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM events`;
const FIND_RECEIVED_AT = `SELECT received_at_ms FROM events WHERE seq = ?`;
const LIST_UNFINISHED = `
  SELECT due_at_ms AS dueAtMs, event, attempts FROM jobs INDEXED BY jobs_unfinished
  WHERE handler = $handler AND state IN ('waiting', 'running') AND state = $state AND (due_at_ms, event) > ($dueAtMs, $event)
  ORDER BY due_at_ms, event LIMIT ${String(SLICE)}`;
const LIST_SET_ASIDE = `
  SELECT event, handler, cause FROM jobs INDEXED BY jobs_set_aside
  WHERE state IN ('dead', 'ignored') AND state = $state AND (event, handler) > ($event, $handler)
  ORDER BY event, handler LIMIT ${String(SLICE)}`;

type Unfinished = { dueAtMs: number; event: number; attempts: number };
type SetAside = { event: number; handler: number; cause: string | null };

/** Counts jobs in slices: exact at rest, and within what changes meanwhile. Jobs that are done are not counted. */
export function createLedgerCounts(db: Database.Database): () => Promise<Counts> {
  const listHandlers = db.prepare<[], { number: number; name: string; isAnnounced: 0 | 1 }>(LIST_HANDLERS);
  const countEvents = db.prepare<[], number>(COUNT_EVENTS).pluck();
  const findReceivedAt = db.prepare<[number], number>(FIND_RECEIVED_AT).pluck();
  const listUnfinished = db.prepare<[Unfinished & { handler: number; state: string }], Unfinished>(
    LIST_UNFINISHED,
  );
  const listSetAside = db.prepare<[SetAside & { state: string }], SetAside>(LIST_SET_ASIDE);

  return async () => {
    const handlers = listHandlers.all();
    const counted = new Map(handlers.map(({ number, name }) => [number, emptyCounts(name)]));
    for (const [number, counts] of counted) await countUnfinished(number, counts);
    const causes = await countSetAside(counted);
    const unwanted = counted.get(0)?.ignored ?? 0;
    return {
      events: countEvents.get() ?? 0,
      unwanted,
      handlers: handlers.flatMap(({ number, isAnnounced }) => {
        const counts = counted.get(number);
        return number > 0 && counts && (isAnnounced === 1 || hasJobs(counts)) ? [counts] : [];
      }),
      causes: [...causes.values()].toSorted((a, b) => b.dead - a.dead),
    };
  };

  async function countUnfinished(handler: number, counts: HandlerCounts): Promise<void> {
    let oldest = Infinity;
    for (const state of ["waiting", "running"] as const) {
      let last: Unfinished | undefined = { dueAtMs: -1, event: 0, attempts: 0 };
      while (last) {
        const slice: Unfinished[] = listUnfinished.all({ ...last, handler, state });
        counts[state] += slice.length;
        for (const { event, attempts } of slice) {
          oldest = Math.min(oldest, event);
          if (state === "waiting" && attempts > 0) counts.failing += 1;
        }
        last = slice.length === SLICE ? slice.at(-1) : undefined;
        if (last) await nextTurn();
      }
    }
    counts.oldestUnfinishedAtMs = findReceivedAt.get(oldest === Infinity ? 0 : oldest) ?? null;
  }

  /** Adds up dead and ignored jobs; returns the dead by handler and cause. */
  async function countSetAside(counted: ReadonlyMap<number, HandlerCounts>) {
    const causes = new Map<string, Counts["causes"][number]>();
    for (const state of ["dead", "ignored"] as const) {
      let last: SetAside | undefined = { event: 0, handler: -1, cause: null };
      while (last) {
        const slice: SetAside[] = listSetAside.all({ ...last, state });
        for (const job of slice) {
          const counts = counted.get(job.handler);
          if (!counts) continue;
          counts[state] += 1;
          if (state === "dead") countCause(counts.handler, job.cause ?? "");
        }
        last = slice.length === SLICE ? slice.at(-1) : undefined;
        if (last) await nextTurn();
      }
    }
    return causes;

    function countCause(handler: string, cause: string): void {
      const key = JSON.stringify([handler, cause]);
      const one = causes.get(key) ?? { handler, cause, dead: 0 };
      one.dead += 1;
      causes.set(key, one);
    }
  }
}

function emptyCounts(handler: string): HandlerCounts {
  return { handler, waiting: 0, running: 0, failing: 0, dead: 0, ignored: 0, oldestUnfinishedAtMs: null };
}

function hasJobs({ waiting, running, dead, ignored }: HandlerCounts): boolean {
  return waiting + running + dead + ignored > 0;
}
