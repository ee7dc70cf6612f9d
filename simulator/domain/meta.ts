import type { Database } from "better-sqlite3";

export type MetaName = "seed" | "schedule_ms" | "journal_id" | "event_ids";

const GET = `SELECT value FROM meta WHERE name = ?`;
const COUNT = `
  INSERT INTO meta (name, value) VALUES (?, '1')
  ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING CAST(value AS INTEGER)`;
const SET_MOMENT = `
  INSERT INTO meta (name, value) VALUES ('schedule_ms', ?), ('journal_id', ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const SET = `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

export type Meta = ReturnType<typeof createMeta>;

export function createMeta(database: Database) {
  const get = database.prepare<[MetaName], string>(GET).pluck();
  const set = database.prepare(SET);
  const setMoment = database.prepare(SET_MOMENT);
  const count = database.prepare<[MetaName], number>(COUNT).pluck();

  return {
    get(name: MetaName): number | undefined {
      const value = get.get(name);
      return value === undefined ? undefined : Number(value);
    },
    /** Increments a counter, from 1; a rollback undoes it. */
    count: (name: MetaName): number => count.get(name) ?? 1,
    set: (name: MetaName, value: number): void => void set.run(name, String(value)),
    setMoment: (scheduleMs: number, journalId: number): void =>
      void setMoment.run(String(scheduleMs), String(journalId)),
  };
}
