import type { Database } from "better-sqlite3";
import type { Origin } from "./history.ts";

const GET = `SELECT seed, calls, organizations, epoch FROM world`;
const SET = `INSERT INTO world (one, seed, calls, organizations, epoch, happenings) VALUES (1, ?, ?, ?, ?, 0)`;
const NEXT_HAPPENING = `UPDATE world SET happenings = happenings + 1 RETURNING happenings`;

export type Origins = ReturnType<typeof createOrigins>;

/** What the world of this database was made from, and how often something has happened in it since. */
export function createOrigins(database: Database) {
  const get = database.prepare<[], Origin>(GET);
  const set = database.prepare(SET);
  const nextHappening = database.prepare<[], number>(NEXT_HAPPENING).pluck();

  return {
    /** The origin that the database has, or else `fresh`, which it has from then on. */
    settle(fresh: Origin): Origin {
      const known = get.get();
      if (known !== undefined) return known;
      set.run(fresh.seed, fresh.calls, fresh.organizations, fresh.epoch);
      return fresh;
    },
    /** Counts from 1, through restarts and resets, so that no id is ever given twice. */
    nextHappening: (): number => nextHappening.get() ?? 1,
  };
}
