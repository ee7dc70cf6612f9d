import type { Database } from "better-sqlite3";
import {
  type FoundPage,
  NO_BOUNDS,
  PAGE_BOUNDS,
  searchPage,
  textMatcher,
  type SearchBounds,
} from "./bounded-search.ts";
import type { EventSummary } from "./events.ts";
import { eventSchema } from "./shapes.ts";
import { columnsOf } from "./spelling.ts";

export type EventSearch = {
  limit: number;
  after?: string | undefined;
  type?: string | undefined;
  orgId?: string | undefined;
  /** Text that id, type, summary or payload have in them, whatever its case. */
  text?: string | undefined;
};

/** Newest first. With `next`, there may be more below the event that it names. */
export type EventPage = { events: EventSummary[]; next: string | null };

type Candidate = { id: string; type: string; org_id: string };
type TextCandidate = Candidate & { summary: string; body: Buffer };

const SUMMARIES = `SELECT ${columnsOf(eventSchema, [])} FROM events WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq DESC`;
const BELOW = `seq < coalesce((SELECT seq FROM events WHERE id = ?), 9223372036854775807)`;
const ALL = `WHERE ${BELOW} ORDER BY seq DESC`;
const OF_TYPE = `WHERE ${BELOW} AND type = ? ORDER BY seq DESC`;
const CANDIDATES = `SELECT id, type, org_id FROM events`;
const TEXT_CANDIDATES = `SELECT id, type, org_id, summary, body FROM events`;

export type EventSummaries = ReturnType<typeof createEventSummaries>;

export function createEventSummaries(options: {
  database: Database;
  monotonicMs: () => number;
  bounds?: SearchBounds;
}) {
  const { database, monotonicMs, bounds = PAGE_BOUNDS } = options;
  const summaries = database.prepare<[string], EventSummary>(SUMMARIES);

  function ofIds(ids: readonly string[]): EventSummary[] {
    return summaries.all(JSON.stringify(ids));
  }

  function candidates<Row>(select: string, { after, type }: EventSearch): IterableIterator<Row> {
    return type === undefined
      ? database.prepare<unknown[], Row>(`${select} ${ALL}`).iterate(after ?? null)
      : database.prepare<unknown[], Row>(`${select} ${OF_TYPE}`).iterate(after ?? null, type);
  }

  function find(search: EventSearch): FoundPage<Candidate> {
    const { limit, orgId, text } = search;
    const fits = (row: Candidate) => orgId === undefined || row.org_id === orgId;
    if (text === undefined) {
      const rows = candidates<Candidate>(CANDIDATES, search);
      // Types have an index, organizations have none.
      const needed = orgId === undefined ? NO_BOUNDS : bounds;
      return searchPage({ rows, matches: fits, limit, bounds: needed, monotonicMs });
    }
    const hasText = textMatcher(text);
    const rows = candidates<TextCandidate>(TEXT_CANDIDATES, search);
    const matches = (row: TextCandidate) =>
      fits(row) && (hasText(`${row.id} ${row.type} ${row.summary}`) || hasText(row.body.toString()));
    return searchPage({ rows, matches, limit, bounds, monotonicMs });
  }

  return {
    find: (id: string): EventSummary | undefined => ofIds([id])[0],
    page: (search: EventSearch): EventPage => {
      const { found, next } = find(search);
      return { events: ofIds(found.map(({ id }) => id)), next };
    },
  };
}
