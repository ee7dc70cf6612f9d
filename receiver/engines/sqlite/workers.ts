import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { LEASE_MS } from "../../engine.ts";

/** How often a worker gives its sign of life, and how long it must have been seen without one before it is given up. */
export const BEAT_MS = 250;
const STILL_MS = 600;

const INSERT = `INSERT INTO workers (id, beat, lease_until_ms) VALUES (?, 0, ?)`;
const BEAT = `UPDATE workers SET beat = beat + 1, lease_until_ms = ? WHERE number = ?`;
const FIND_OTHERS = `SELECT number, id, beat, lease_until_ms FROM workers WHERE number <> ?`;
// Left behind by a worker that removed itself and could not return everything.
const FIND_ORPHANED = `
  SELECT DISTINCT worker FROM work INDEXED BY work_claimed
  WHERE state = 'claimed' AND worker NOT IN (SELECT number FROM workers)`;
const FIND_NUMBER = `SELECT number FROM workers WHERE id = ?`;
const DELETE = `DELETE FROM workers WHERE number = ?`;

/**
 * Who handles events, and who no longer does. A worker counts its beats in the work file and says until when its lease
 * runs. It is gone when that time is over and it was seen to stand still as well, so that no clock that is set makes a
 * living worker look dead; and also when it stood still for a whole lease, whatever the clock says. The verbs want a
 * transaction of the caller's.
 */
export function createWorkers(db: Database.Database, clock: Clock) {
  const insert = db.prepare<[string, number]>(INSERT);
  const beat = db.prepare<[number, number]>(BEAT);
  const findOthers = db.prepare<[number], Other>(FIND_OTHERS);
  const findOrphaned = db.prepare<[], number>(FIND_ORPHANED).pluck();
  const findNumber = db.prepare<[string], number>(FIND_NUMBER).pluck();
  const remove = db.prepare<[number]>(DELETE);
  const seen = new Map<number, { beat: number; atMs: number }>();
  const leaseUntilMs = (): number => clock.nowMs() + LEASE_MS;

  return {
    register: (id: string): number => Number(insert.run(id, leaseUntilMs()).lastInsertRowid),
    /** False when somebody took this worker for dead: its claims are not its own any more. */
    beat: (number: number): boolean => beat.run(leaseUntilMs(), number).changes === 1,
    numberOf: (id: string): number | undefined => findNumber.get(id),
    remove: (number: number): void => void remove.run(number),
    /** Workers other than `number` that hold claims, or did, and are gone; `isGone` may know of some at once. */
    vanished(number: number, isGone: (workerId: string) => boolean = () => false): number[] {
      const nowMs = clock.monotonicMs();
      const gone = findOthers.all(number).filter((other) => {
        const last = seen.get(other.number);
        if (last?.beat !== other.beat) {
          seen.set(other.number, { beat: other.beat, atMs: nowMs });
          return isGone(other.id);
        }
        const stillMs = nowMs - last.atMs;
        return (
          isGone(other.id) ||
          stillMs >= LEASE_MS ||
          (stillMs >= STILL_MS && other.lease_until_ms <= clock.nowMs())
        );
      });
      return [...gone.map((other) => other.number), ...findOrphaned.all()];
    },
  };
}

type Other = { number: number; id: string; beat: number; lease_until_ms: number };

export type Workers = ReturnType<typeof createWorkers>;
