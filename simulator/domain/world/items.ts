import type { Database } from "better-sqlite3";

/** The objects that have a list. */
export type ItemKind = "call" | "voicemail";

/** The place of an item in its list: by time, and within one second by number. */
export type Place = { createdAt: number; seq: number };

/** A call or voicemail; a call that has not ended is in no list. `facet` is its outcome, or whether it was reviewed. */
export type Item = Place & {
  organization: number;
  kind: ItemKind | "open call";
  facet: string;
  id: string;
  /** The object as JSON; null while it follows from the seed. */
  object: string | null;
};

/** Whether the item is of that kind, listed or not. */
export function isA(kind: ItemKind, item: Item): boolean {
  return item.kind === kind || (kind === "call" && item.kind === "open call");
}

/** Above the number of every item of the history. */
export const FIRST_STORED_SEQ = 2 ** 32;

export type Items = ReturnType<typeof createItems>;

const COLUMNS = `organization, kind, created_at AS "createdAt", seq, facet, id, object`;
const INSERT = `INSERT INTO world_items (organization, kind, created_at, seq, facet, id, object)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;
const FIND = `SELECT ${COLUMNS} FROM world_items WHERE id = ?`;
const REMOVE = `DELETE FROM world_items WHERE id = ?`;
const BEFORE = `SELECT ${COLUMNS} FROM world_items
  WHERE organization = ? AND kind = ? AND (created_at, seq) < (?, ?)
  ORDER BY created_at DESC, seq DESC LIMIT ?`;
const BEFORE_OF_FACET = `SELECT ${COLUMNS} FROM world_items
  WHERE organization = ? AND kind = ? AND facet = ? AND (created_at, seq) < (?, ?)
  ORDER BY created_at DESC, seq DESC LIMIT ?`;
const TIE = `UPDATE world_items SET event_id = ? WHERE id = ?`;
const HIDES = `SELECT EXISTS (SELECT 1 FROM world_items WHERE id = ?)`;
const CLEAR = `DELETE FROM world_items`;

/** The calls and voicemails that are newer than the history or were changed. */
export function createItems(database: Database) {
  const insert = database.prepare(INSERT);
  const find = database.prepare<[string], Item>(FIND);
  const remove = database.prepare<[string]>(REMOVE);
  const tie = database.prepare<[string, string]>(TIE);
  const before = database.prepare<[number, ItemKind, number, number, number], Item>(BEFORE);
  const beforeOfFacet = database.prepare<[number, ItemKind, string, number, number, number], Item>(
    BEFORE_OF_FACET,
  );
  const hides = database.prepare<[string], number>(HIDES).pluck();

  let changes = 0;

  return {
    changes: () => changes,
    /** Whether the history's item with that id was changed and is stored here. */
    hidesHistoric: (id: string): boolean => hides.get(id) === 1,
    find: (id: string): Item | undefined => find.get(id),
    put(item: Item & { object: string }): void {
      const { organization, kind, createdAt, seq, facet, id, object } = item;
      changes += 1;
      remove.run(id);
      insert.run(organization, kind, createdAt, seq, facet, id, object);
    },
    /** Makes an item last as long as the last event about it. */
    tie: (id: string, eventId: string): void => void tie.run(eventId, id),
    /** At most `limit` items before `place`, the newest first. */
    before(
      list: { organization: number; kind: ItemKind; facet?: string | undefined },
      place: Place,
      limit: number,
    ): Item[] {
      const { organization, kind, facet } = list;
      const { createdAt, seq } = place;
      return facet === undefined
        ? before.all(organization, kind, createdAt, seq, limit)
        : beforeOfFacet.all(organization, kind, facet, createdAt, seq, limit);
    },
    clear(): void {
      changes += 1;
      database.exec(CLEAR);
    },
  };
}
