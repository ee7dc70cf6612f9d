import type Database from "better-sqlite3";

// Both are temporary: they belong to one connection, and take part in its transactions, rollbacks included.
const CREATE = `
  CREATE TEMP TABLE objects (object_id TEXT, type TEXT, seq INTEGER, PRIMARY KEY (object_id, type)) WITHOUT ROWID;
  CREATE TEMP TABLE objects_seen (seq INTEGER NOT NULL);
  INSERT INTO objects_seen VALUES (0)`;
const FIND = `SELECT seq FROM objects WHERE object_id = ? AND type = ?`;

/**
 * Which objects there are events for. Only `reconcile` asks, so this is made when it does, in a temporary table of its
 * connection, and not kept up with every event that arrives: an index on random keys would cost each of them a page.
 */
export function createObjectIndex(db: Database.Database) {
  let prepared: ReturnType<typeof prepare> | undefined;

  function prepare() {
    db.exec(CREATE);
    const extend = db.prepare(`
      INSERT OR IGNORE INTO objects
      SELECT object_id, type, seq FROM events WHERE seq > (SELECT seq FROM objects_seen) AND object_id IS NOT NULL`);
    const see = db.prepare(`UPDATE objects_seen SET seq = (SELECT coalesce(max(seq), 0) FROM events)`);
    return {
      // One look for both: what another process stores between two looks would count as seen, and be in no index.
      extend: db.transaction(() => {
        extend.run();
        see.run();
      }),
      find: db.prepare<[string, string], number>(FIND).pluck(),
    };
  }

  return {
    /** Takes in what arrived since the last time. */
    extend(): void {
      prepared ??= prepare();
      prepared.extend();
    },
    /** The first event of the type for the object, as of the last `extend`. */
    find: (type: string, objectId: string): number | undefined => prepared?.find.get(objectId, type),
  };
}
