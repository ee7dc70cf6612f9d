import type { Database } from "better-sqlite3";

/** What a data file remembers about itself. */
export type MetaName = "seed" | "schedule_ms" | "journal_id" | "calls" | "epoch_ms";

const GET = `SELECT value FROM meta WHERE name = ?`;
const SET = `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** Numbers by name, kept in the data file. */
export function createMeta(database: Database) {
  const get = database.prepare<[MetaName], string>(GET).pluck();
  const set = database.prepare(SET);

  return {
    get(name: MetaName): number | undefined {
      const value = get.get(name);
      return value === undefined ? undefined : Number(value);
    },
    set: (name: MetaName, value: number): void => void set.run(name, String(value)),
  };
}
