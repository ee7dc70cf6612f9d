import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LEASE_MS } from "../../engine.ts";

/** How often a worker that holds claims gives its sign of life, and how long it must have been seen without one before it is given up. */
export const BEAT_MS = 300;
const STILL_MS = 750;

/** One that holds nothing has nothing to lose: it only shows that it is there, and leaves the disk alone. */
export const IDLE_BEAT_MS = 60_000;
export const IDLE_LEASE_MS = 90_000;

const INSERT = `INSERT INTO workers (id, beat, lease_until_ms) VALUES (?, 0, ?)`;
const BEAT = `UPDATE workers SET beat = beat + 1, lease_until_ms = ? WHERE number = ?`;
const FIND_OTHERS = `SELECT number, beat, lease_until_ms FROM workers WHERE number <> ?`;
// Left behind by a worker that removed itself and could not return everything.
const FIND_ORPHANED = `
  SELECT DISTINCT worker FROM jobs INDEXED BY jobs_claimed
  WHERE worker IS NOT NULL AND worker NOT IN (SELECT number FROM workers)`;
const HOLDS = `SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_claimed WHERE worker IS NOT NULL AND worker = ?)`;
const FIND_NUMBER = `SELECT number FROM workers WHERE id = ?`;
const DELETE = `DELETE FROM workers WHERE number = ?`;

type Other = { number: number; beat: number; lease_until_ms: number };

/**
 * Who handles events, and who no longer does. A worker counts its beats in the work file and says until when its lease
 * runs. It is gone when that time is over and it was seen to stand still as well, so that no clock that is set makes a
 * living worker look dead; and also when it stood still for a whole lease, whatever the clock says. The verbs want a
 * transaction of the caller's, but for `vanished`, which only reads.
 */
export function createWorkers(db: Database.Database, clock: Clock) {
  const insert = db.prepare<[string, number]>(INSERT);
  const beat = db.prepare<[number, number]>(BEAT);
  const findOthers = db.prepare<[number], Other>(FIND_OTHERS);
  const findOrphaned = db.prepare<[], number>(FIND_ORPHANED).pluck();
  const holdsClaims = db.prepare<[number], number>(HOLDS).pluck();
  const findNumbers = db.prepare<[string], number>(FIND_NUMBER).pluck();
  const remove = db.prepare<[number]>(DELETE);
  const seen = new Map<number, { beat: number; atMs: number }>();
  const leaseUntilMs = (holds: boolean): number => clock.nowMs() + (holds ? LEASE_MS : IDLE_LEASE_MS);

  return {
    /**
     * Gives a sign of life of the worker `number`. Answers its number: another one when it has none yet, or when somebody
     * took it for dead and its claims are not its own any more.
     */
    beat(number: number | undefined, id: string, holds: boolean): number {
      const until = leaseUntilMs(holds);
      if (number !== undefined && beat.run(until, number).changes === 1) return number;
      return Number(insert.run(id, until).lastInsertRowid);
    },
    numbersOf: (id: string): number[] => findNumbers.all(id),
    remove: (number: number): void => void remove.run(number),
    /** Workers other than `number` that hold claims, or did, and are gone. */
    vanished(number: number): number[] {
      const nowMs = clock.monotonicMs();
      const others = findOthers.all(number);
      for (const known of seen.keys())
        if (!others.some((other) => other.number === known)) seen.delete(known);
      const gone = others.filter((other) => {
        const last = seen.get(other.number);
        if (last?.beat !== other.beat) {
          seen.set(other.number, { beat: other.beat, atMs: nowMs });
          return false;
        }
        const stillMs = nowMs - last.atMs;
        const longestMs = holdsClaims.get(other.number) === 1 ? LEASE_MS : IDLE_LEASE_MS;
        return stillMs >= longestMs || (stillMs >= STILL_MS && other.lease_until_ms <= clock.nowMs());
      });
      return [...gone.map((other) => other.number), ...findOrphaned.all()];
    },
  };
}

export type Workers = ReturnType<typeof createWorkers>;
