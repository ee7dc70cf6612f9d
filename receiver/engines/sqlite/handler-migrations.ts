import type Database from "better-sqlite3";
import type { HandlerMigrations } from "../../engine.ts";

const FIND_APPLIED = `SELECT applied FROM handler_migrations WHERE handler = ?`;
const SET_APPLIED = `INSERT INTO handler_migrations VALUES (?, ?) ON CONFLICT (handler) DO UPDATE SET applied = excluded.applied`;

/** Brings the tables of the handlers up to date: each migration runs once, in its order, all of them or none. */
export function applyHandlerMigrations(db: Database.Database, all: HandlerMigrations): void {
  const findApplied = db.prepare<[string], number>(FIND_APPLIED).pluck();
  const setApplied = db.prepare<[string, number]>(SET_APPLIED);
  const isCurrent = all.every(
    ({ handler, migrations }) => (findApplied.get(handler) ?? 0) >= migrations.length,
  );
  if (isCurrent) return;
  const apply = db.transaction(() => {
    for (const { handler, migrations } of all) {
      for (const migration of migrations.slice(findApplied.get(handler) ?? 0)) {
        db.exec(typeof migration === "string" ? migration : migration.sqlite);
      }
      setApplied.run(handler, migrations.length);
    }
  });
  apply.immediate();
}
