import type { Database } from "better-sqlite3";
import { WORLD_ITEMS_INDEXES } from "./schema.ts";

export type ItemKind = "call" | "voicemail";

/** A call or voicemail as it is stored. `facet` is what its list can be filtered by: the outcome, or `reviewed`. */
export type Item = {
  organization: number;
  kind: ItemKind;
  createdAt: number;
  seq: number;
  facet: string;
  id: string;
  /** Index into the organization's generated history; null for what happened later. */
  origin: number | null;
  /** The object as JSON; null while it follows from the seed alone. */
  object: string | null;
};

export type PageQuery = {
  limit: number;
  startingAfter?: string | undefined;
  facet?: string | undefined;
};

export type ItemPage =
  | { ok: true; items: Item[]; hasMore: boolean }
  | { ok: false; reason: "invalid_cursor" };

export type Items = ReturnType<typeof createItems>;

const COLUMNS = `organization, kind, created_at AS "createdAt", seq, facet, id, origin, object`;
const ROW = `(?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT = `INSERT INTO world_items (organization, kind, created_at, seq, facet, id, origin, object) VALUES ${ROW}`;
const COLUMN_COUNT = 8;
const FILL_ROWS = 100;
const INSERT_MANY = `${INSERT}${`, ${ROW}`.repeat(FILL_ROWS - 1)}`;
const FIND = `SELECT ${COLUMNS} FROM world_items WHERE id = ?`;
const REMOVE = `DELETE FROM world_items WHERE id = ?`;
const REMOVE_ALL = `DELETE FROM world_items`;
// A page starts at a place in the order, not at a row of its own filter: the cursor may be of any facet.
const PAGE = `SELECT ${COLUMNS} FROM world_items
  WHERE organization = ? AND kind = ? AND (created_at, seq) < (?, ?)
  ORDER BY created_at DESC, seq DESC LIMIT ?`;
const PAGE_OF_FACET = `SELECT ${COLUMNS} FROM world_items
  WHERE organization = ? AND kind = ? AND facet = ? AND (created_at, seq) < (?, ?)
  ORDER BY created_at DESC, seq DESC LIMIT ?`;
// To fill a million rows first and index them afterwards takes a third of the time.
const DROP_INDEXES = `DROP INDEX world_items_by_facet; DROP INDEX world_items_by_id`;

/** Every call and voicemail, newest first, with keyset pages: the millionth costs what the first does. */
export function createItems(database: Database) {
  const insert = database.prepare(INSERT);
  const insertMany = database.prepare(INSERT_MANY);
  const find = database.prepare<[string], Item>(FIND);
  const remove = database.prepare<[string]>(REMOVE);
  const removeAll = database.prepare(REMOVE_ALL);
  const page = database.prepare<[number, ItemKind, number, number, number], Item>(PAGE);
  const pageOfFacet = database.prepare<[number, ItemKind, string, number, number, number], Item>(
    PAGE_OF_FACET,
  );

  function add(item: Item): void {
    insert.run(valuesOf(item));
  }

  return {
    add,
    find: (id: string): Item | undefined => find.get(id),
    /** Puts `item` in the place of the one with its id. */
    replace(item: Item): void {
      remove.run(item.id);
      add(item);
    },
    remove: (id: string): boolean => remove.run(id).changes > 0,
    /** Replaces everything by `items`, which come in the order of their lists. */
    refill(items: Iterable<Item>): void {
      removeAll.run();
      database.exec(DROP_INDEXES);
      let row = 0;
      let values: unknown[] = [];
      for (const item of items) {
        values.push(...valuesOf(item));
        row += 1;
        if (row % FILL_ROWS > 0) continue;
        insertMany.run(values);
        values = [];
      }
      for (let rest = 0; rest < values.length; rest += COLUMN_COUNT) {
        insert.run(values.slice(rest, rest + COLUMN_COUNT));
      }
      database.exec(WORLD_ITEMS_INDEXES.join(";"));
    },
    /** Items older than the cursor, newest first (SPEC §4 Pagination rules). */
    page(organization: number, kind: ItemKind, query: PageQuery): ItemPage {
      const place = placeOf(organization, kind, query.startingAfter);
      if (place === undefined) return { ok: false, reason: "invalid_cursor" };
      const { createdAt, seq } = place;
      // One more than asked for tells whether there is a next page.
      const count = query.limit + 1;
      const items =
        query.facet === undefined
          ? page.all(organization, kind, createdAt, seq, count)
          : pageOfFacet.all(organization, kind, query.facet, createdAt, seq, count);
      return { ok: true, items: items.slice(0, query.limit), hasMore: items.length > query.limit };
    },
  };

  function placeOf(organization: number, kind: ItemKind, startingAfter: string | undefined) {
    if (startingAfter === undefined) return { createdAt: Number.MAX_SAFE_INTEGER, seq: 0 };
    const cursor = find.get(startingAfter);
    return cursor?.organization === organization && cursor.kind === kind ? cursor : undefined;
  }
}

function valuesOf(item: Item) {
  const { organization, kind, createdAt, seq, facet, id, origin, object } = item;
  return [organization, kind, createdAt, seq, facet, id, origin, object];
}
