import type Database from "better-sqlite3";
import type { JobHandler } from "../../engine.ts";

const FIND_APPLIED = `SELECT applied FROM handler_migrations WHERE handler = ?`;
const SET_APPLIED = `INSERT INTO handler_migrations VALUES (?, ?) ON CONFLICT (handler) DO UPDATE SET applied = excluded.applied`;
const TAKE_APPLIED_BY_TYPE = `DELETE FROM type_migrations WHERE handler = ? AND applied <= ? RETURNING applied`;

/** Brings the tables of the handlers up to date: each migration runs once, in its order, all of them or none. */
export function applyHandlerMigrations(db: Database.Database, handlers: readonly JobHandler[]): void {
  const findApplied = db.prepare<[string], number>(FIND_APPLIED).pluck();
  const setApplied = db.prepare<[string, number]>(SET_APPLIED);
  const takeAppliedByType = db.prepare<[string, number], number>(TAKE_APPLIED_BY_TYPE).pluck();
  const isCurrent = handlers.every(
    ({ name, migrations }) => (findApplied.get(name) ?? 0) >= migrations.length,
  );
  if (isCurrent) return;
  const apply = db.transaction(() => {
    for (const { name, types, migrations } of handlers) {
      const applied = findApplied.get(name) ?? inherited(types, migrations.length);
      for (const migration of migrations.slice(applied)) {
        db.exec(typeof migration === "string" ? migration : migration.sqlite);
      }
      setApplied.run(name, Math.max(applied, migrations.length));
    }
  });
  apply.immediate();

  /** Handlers were known by their type once: the first of that type alone that may have run so many has run them. */
  function inherited(types: JobHandler["types"], length: number): number {
    const [type, ...others] = types;
    if (types === "*" || type === undefined || others.length > 0) return 0;
    return takeAppliedByType.get(type, length) ?? 0;
  }
}
