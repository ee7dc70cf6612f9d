import type { History } from "./history.ts";
import type { Item, ItemKind, Items, Place } from "./items.ts";

export type PageQuery = { limit: number; startingAfter?: string | undefined; facet?: string | undefined };

export type ItemPage =
  | { ok: true; items: Item[]; hasMore: boolean }
  | { ok: false; reason: "invalid_cursor" };

export type Timeline = ReturnType<typeof createTimeline>;

const END: Place = { createdAt: Number.MAX_SAFE_INTEGER, seq: 0 };

/** All calls and voicemails, newest first. A page is found by its place: the last one costs what the first does. */
export function createTimeline({ history, items }: { history: History; items: Items }) {
  function find(id: string): Item | undefined {
    return items.find(id) ?? (items.hidesHistoric(id) ? undefined : history.find(id));
  }

  function* historic(
    organization: number,
    kind: ItemKind,
    place: Place,
    facet?: string,
  ): Generator<Item, void> {
    for (const item of history.before(organization, kind, place, facet)) {
      if (!items.hidesHistoric(item.id)) yield item;
    }
  }

  return {
    find,
    /** A page by SPEC §4 Pagination rules. The cursor is any item of the list, even one that the filter excludes. */
    page(organization: number, kind: ItemKind, query: PageQuery): ItemPage {
      const { limit, startingAfter, facet } = query;
      const cursor = startingAfter === undefined ? undefined : find(startingAfter);
      const isOwn = cursor?.organization === organization && cursor.kind === kind;
      if (startingAfter !== undefined && !isOwn) return { ok: false, reason: "invalid_cursor" };
      const place = cursor ?? END;

      // One more than requested shows whether there is a next page.
      const stored = items.before({ organization, kind, facet }, place, limit + 1);
      const page = newest(limit + 1, stored, historic(organization, kind, place, facet));
      return { ok: true, items: page.slice(0, limit), hasMore: page.length > limit };
    },
  };
}

/** The newest `count` of two lists that are newest first. */
function newest(count: number, stored: readonly Item[], historic: Generator<Item, void>): Item[] {
  const items: Item[] = [];
  let fromStored = 0;
  let old = historic.next().value ?? undefined;
  while (items.length < count) {
    const recent = stored[fromStored];
    if (recent !== undefined && (old === undefined || isNewer(recent, old))) {
      items.push(recent);
      fromStored += 1;
    } else if (old === undefined) {
      break;
    } else {
      items.push(old);
      old = historic.next().value ?? undefined;
    }
  }
  return items;
}

function isNewer(left: Place, right: Place): boolean {
  return left.createdAt === right.createdAt ? left.seq > right.seq : left.createdAt > right.createdAt;
}
