import type { Database } from "better-sqlite3";
import type { Origin } from "./history.ts";

const GET = `SELECT seed, calls, organizations, epoch FROM world`;
const SET = `INSERT INTO world (one, seed, calls, organizations, epoch, items, happenings)
  SELECT 1, ?, ?, ?, ?, coalesce(max(seq), 0), 0 FROM world_items WHERE true
  ON CONFLICT (one) DO UPDATE SET items = excluded.items`;
const NEXT_HAPPENING = `UPDATE world SET happenings = happenings + 1 RETURNING happenings`;
const NEXT_ITEM = `UPDATE world SET items = items + 1 RETURNING items`;

export type Origins = ReturnType<typeof createOrigins>;

/** What the world of this database was made from, and how far its own numbering has come. */
export function createOrigins(database: Database) {
  const get = database.prepare<[], Origin>(GET);
  const set = database.prepare(SET);
  const nextHappening = database.prepare<[], number>(NEXT_HAPPENING).pluck();
  const nextItem = database.prepare<[], number>(NEXT_ITEM).pluck();

  return {
    get: (): Origin | undefined => get.get(),
    /** Records `origin` over the items that are there. The count of what happened goes on, and with it the ids. */
    set({ seed, calls, organizations, epoch }: Origin): void {
      set.run(seed, calls, organizations, epoch);
    },
    nextHappening: (): number => nextHappening.get() ?? 1,
    nextSeq: (): number => nextItem.get() ?? 1,
  };
}
