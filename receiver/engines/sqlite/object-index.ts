import type Database from "better-sqlite3";

// Both are temporary: they belong to one connection, and take part in its transactions, rollbacks included.
const CREATE = `
  CREATE TEMP TABLE IF NOT EXISTS objects (object_id TEXT, type TEXT, seq INTEGER, PRIMARY KEY (object_id, type)) WITHOUT ROWID;
  CREATE TEMP TABLE IF NOT EXISTS objects_seen (seq INTEGER NOT NULL);
  INSERT INTO objects_seen SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM objects_seen)`;
const EXTEND = `
  INSERT OR IGNORE INTO objects
  SELECT object_id, type, seq FROM events WHERE seq > (SELECT seq FROM objects_seen) AND object_id IS NOT NULL`;
const FIND = `SELECT seq FROM objects WHERE object_id = ? AND type = ?`;

/**
 * Which objects there are events for. Only `reconcile` asks, so this is a temporary table of its connection, made when
 * it does: an index on random keys that is kept up with every event would cost each of them a page.
 */
export function createObjectIndex(db: Database.Database) {
  db.exec(CREATE);
  const extend = db.prepare(EXTEND);
  const see = db.prepare(`UPDATE objects_seen SET seq = (SELECT coalesce(max(seq), 0) FROM events)`);
  const find = db.prepare<[string, string], number>(FIND).pluck();
  // In one transaction, for other processes store events meanwhile.
  const takeIn = db.transaction(() => {
    extend.run();
    see.run();
  });
  return {
    /** Takes in what arrived since the last time. */
    extend: (): void => takeIn(),
    /** The first event of the type for the object, as of the last `extend`. */
    find: (type: string, objectId: string): number | undefined => find.get(objectId, type),
  };
}
