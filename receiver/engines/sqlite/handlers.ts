import type Database from "better-sqlite3";
import type { JobHandler } from "../../engine.ts";
import { namedError } from "../../named-error.ts";

/** Number 0 stands for events that no handler wanted. */
export const HANDLERS_PER_EVENT = 1_024;

/** A handler as the work file knows it, with its policy where this process has it. */
export type KnownHandler = {
  number: number;
  name: string;
  types: readonly string[] | "*";
  policy: JobHandler | undefined;
};

const FORGET_OTHERS = `UPDATE handlers SET types = NULL WHERE name NOT IN (SELECT value FROM json_each(?))`;
const LIST = `SELECT number, name, types FROM handlers WHERE types IS NOT NULL ORDER BY number`;
const IGNORE = `
  UPDATE jobs SET state = 'ignored', due_at_ms = NULL, key = NULL, finished_at_ms = $nowMs,
    last_error = 'Its handler is gone.'
  WHERE job IN (
    SELECT job FROM jobs INDEXED BY jobs_waiting
    WHERE due_at_ms IS NOT NULL AND state IN ('offered', 'fresh', 'pending', 'suspect') AND handler = $number
    UNION ALL SELECT job FROM jobs INDEXED BY jobs_keyed WHERE handler = $number AND key IS NOT NULL AND state = 'held')`;

/** Names and types of the handlers that the last worker announced. */
export function announcedHandlers(db: Database.Database): Omit<KnownHandler, "policy">[] {
  const rows = db.prepare<[], { number: number; name: string; types: string }>(LIST).all();
  const listTypes = db.prepare<[string], string>(`SELECT value FROM json_each(?)`).pluck();
  return rows.map(({ types, ...row }) => ({ ...row, types: types === "*" ? "*" : listTypes.all(types) }));
}

/**
 * Which handlers there are: what the last worker of all announced, so that workers of two versions that run side by side
 * split an event into the same jobs. The verbs want a transaction of the caller's.
 */
export function createHandlers(db: Database.Database, policies: readonly JobHandler[]) {
  const announce = db.prepare<[string, string]>(`
    INSERT INTO handlers (number, name, types, before_jobs)
    VALUES ((SELECT coalesce(max(number), 0) + 1 FROM handlers), ?, ?, (SELECT announced = 0 AND seq > 0 FROM position))
    ON CONFLICT (name) DO UPDATE SET types = excluded.types`);
  const findAnnounced = db.prepare<[], number>(`SELECT announced FROM position`).pluck();
  const ignore = db.prepare<[{ number: number; nowMs: number }]>(IGNORE);
  const listGone = db.prepare<[], number>(`SELECT number FROM handlers WHERE types IS NULL`).pluck();
  const byName = new Map(policies.map((policy) => [policy.name, policy]));
  let known: KnownHandler[] = [];
  let announced: number | undefined;

  return {
    /** Runs the migrations of this process's handlers, and makes these handlers the only ones that there are. */
    announce(): void {
      applyMigrations(db, policies);
      for (const { name, types } of policies) announce.run(name, types === "*" ? "*" : JSON.stringify(types));
      db.prepare<[string]>(FORGET_OTHERS).run(JSON.stringify([...byName.keys()]));
      db.prepare(`UPDATE position SET announced = announced + 1`).run();
    },
    /** Ends what waits for a handler that is gone. */
    ignoreGone(nowMs: number): void {
      for (const number of listGone.all()) ignore.run({ number, nowMs });
    },
    /** Reads the handlers again where a worker has announced some since. */
    refresh(): void {
      const count = findAnnounced.get();
      if (count === announced) return;
      const found = announcedHandlers(db).map((row) => ({ ...row, policy: byName.get(row.name) }));
      const last = found.at(-1);
      if (last && last.number >= HANDLERS_PER_EVENT) {
        const most = `This database has seen more than ${String(HANDLERS_PER_EVENT - 1)} names of handlers.`;
        throw namedError("TooManyHandlers", `${most} Keep a handler's name when you change it.`);
      }
      known = found;
      announced = count;
    },
    /** Those that this process can run. */
    own: (): KnownHandler[] => known.filter(({ policy }) => policy !== undefined),
    wanting: (type: string): KnownHandler[] => known.filter(({ types }) => wants(types, type)),
    find: (number: number): KnownHandler | undefined => known.find((handler) => handler.number === number),
  };
}

export type Handlers = ReturnType<typeof createHandlers>;

export function wants(types: readonly string[] | "*", type: string): boolean {
  return types === "*" || types.includes(type);
}

const FIND_APPLIED = `SELECT applied FROM handler_migrations WHERE handler = ?`;
const SET_APPLIED = `INSERT INTO handler_migrations VALUES (?, ?) ON CONFLICT (handler) DO UPDATE SET applied = excluded.applied`;
const TAKE_APPLIED_BY_TYPE = `DELETE FROM type_migrations WHERE handler = ? AND applied <= ? RETURNING applied`;

/** Each migration runs once, in its order. */
function applyMigrations(db: Database.Database, handlers: readonly JobHandler[]): void {
  const findApplied = db.prepare<[string], number>(FIND_APPLIED).pluck();
  const setApplied = db.prepare<[string, number]>(SET_APPLIED);
  const takeAppliedByType = db.prepare<[string, number], number>(TAKE_APPLIED_BY_TYPE).pluck();
  for (const { name, types, migrations } of handlers) {
    const applied = findApplied.get(name) ?? inherited(types, migrations.length);
    for (const migration of migrations.slice(applied)) {
      db.exec(typeof migration === "string" ? migration : migration.sqlite);
    }
    setApplied.run(name, Math.max(applied, migrations.length));
  }

  /** Once this was counted by type: the first handler of that type alone that has as many migrations takes the count over. */
  function inherited(types: JobHandler["types"], length: number): number {
    const [type, ...others] = types;
    if (types === "*" || type === undefined || others.length > 0) return 0;
    return takeAppliedByType.get(type, length) ?? 0;
  }
}
