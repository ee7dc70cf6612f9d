import type { Database } from "better-sqlite3";
import {
  type FoundPage,
  NO_BOUNDS,
  PAGE_BOUNDS,
  phoneMatcher,
  searchPage,
  textMatcher,
  type SearchBounds,
} from "./bounded-search.ts";
import { meetsPaths } from "./query.ts";
import type { Selection } from "./selection.ts";

/** A found delivery, with what counting and filtering need. */
export type FoundDelivery = Record<"id" | "endpoint_id" | "event_type" | "state" | "verdict", string> & {
  cause: string | null;
};

/** Which deliveries, how many at most, and below the delivery with the id `after`, which exists. */
export type DeliverySearch = Selection & { limit: number; after?: string | undefined };

type Column = "endpoint_id" | "event_id" | "event_type" | "state" | "verdict" | "cause";
type Candidate = FoundDelivery &
  Record<Column, string | null> & {
    created_at: number;
    /** 1 if it gave up or failed so far. */
    has_failed: number;
    /** How its attempts ended, separated by commas, and when the last one did. */
    outcomes: string | null;
    ended_at: number | null;
  };
type TextCandidate = Candidate & { summary: string; body: Buffer };

const COLUMNS = `d.id, d.event_id, d.event_type, d.endpoint_id, d.state, d.verdict, d.cause, d.created_at,
  d.state = 'dead' OR d.state = 'attempting' AND d.attempts_made > (d.next_attempt_at IS NULL) AS has_failed`;
const HOW_ATTEMPTS_ENDED = `(
  SELECT group_concat(coalesce(error, http_status)) FROM attempts WHERE delivery_seq = d.seq)`;
const LAST_END = `(SELECT max(ended_at) FROM attempts WHERE delivery_seq = d.seq)`;
const BELOW = `d.seq < coalesce((SELECT seq FROM deliveries WHERE id = ?), 9223372036854775807)`;
/** Not sent again since, and its endpoint exists: a dead delivery like this is lost. */
export const LAST = `
  EXISTS (SELECT 1 FROM endpoints WHERE id = d.endpoint_id AND deleted_at IS NULL)
  AND NOT EXISTS (
    SELECT 1 FROM deliveries l WHERE l.event_id = d.event_id AND +l.endpoint_id = d.endpoint_id AND l.seq > d.seq
  )`;
const URLS = `SELECT id, url FROM endpoints`;

export type DeliveryFinder = ReturnType<typeof createDeliverySearch>;

/** Looks for a selection, newest first, along the index of its narrowest column. Only text and paths read bodies. */
export function createDeliverySearch(options: {
  database: Database;
  monotonicMs: () => number;
  bounds?: SearchBounds;
}) {
  const { database, monotonicMs, bounds = PAGE_BOUNDS } = options;
  const urls = database.prepare<[], { id: string; url: string }>(URLS);

  function* candidates<Row extends Candidate>(
    search: DeliverySearch,
    { withBody }: { withBody: boolean },
  ): Generator<Row> {
    const [narrowest] = columnsOf(search);
    const outcomes = search.outcome === undefined ? "NULL" : HOW_ATTEMPTS_ENDED;
    const columns = `${COLUMNS}, ${outcomes} AS outcomes, ${hasGaveUp(search) ? LAST_END : "NULL"} AS ended_at`;
    const rows = withBody
      ? `SELECT ${columns}, e.summary, coalesce(d.body, e.body) AS body FROM deliveries d JOIN events e ON e.id = d.event_id`
      : `SELECT ${columns} FROM deliveries d`;
    const last = search.isLast === true ? ` AND ${LAST}` : "";
    const chosen = search.ids === undefined ? "" : " AND d.id IN (SELECT value FROM json_each(?))";
    const ids = search.ids === undefined ? [] : [JSON.stringify(search.ids)];
    const column = narrowest === undefined ? "" : ` AND d.${narrowest[0]} = ?`;
    const values = narrowest === undefined ? [] : [narrowest[1]];
    for (const row of database
      .prepare<unknown[], Row>(`${rows} WHERE ${BELOW}${last}${chosen}${column} ORDER BY d.seq DESC`)
      .iterate(search.after ?? null, ...ids, ...values)) {
      // All following rows are older.
      if (row.created_at < (search.sinceMs ?? 0)) return;
      yield row;
    }
  }

  function findText(search: DeliverySearch): FoundPage<FoundDelivery> {
    const { limit, text, phone, paths = [] } = search;
    const fits = fitsColumns(search);
    const hasText = textMatcher(text ?? "");
    const hasPhone = phone === undefined ? () => true : phoneMatcher(phone);
    const places = new Set(urls.all().flatMap(({ id, url }) => (hasText(url) ? [id] : [])));
    const rows = candidates<TextCandidate>(search, { withBody: true });
    const matches = (row: TextCandidate) =>
      fits(row) &&
      hasPhone(row.body.toString()) &&
      (places.has(row.endpoint_id) ||
        hasText(`${row.id} ${row.event_id} ${row.endpoint_id} ${row.event_type} ${row.summary}`) ||
        hasText(row.body.toString())) &&
      (paths.length === 0 || meetsPaths(paths, row.event_type, JSON.parse(row.body.toString())));
    return searchPage({ rows, matches, limit, bounds, monotonicMs });
  }

  /** A page of matches. It may be short or empty although there are more: `next` says where to continue. */
  return (asked: DeliverySearch): FoundPage<FoundDelivery> => {
    const search = asked.state === "lost" ? { ...asked, state: "dead" as const, isLast: true } : asked;
    const { limit, text, phone, paths = [] } = search;
    if (text !== undefined || phone !== undefined || paths.length > 0) return findText(search);
    const rows = candidates<Candidate>(search, { withBody: false });
    const needed = isByOneColumn(search) && limit < Infinity ? NO_BOUNDS : bounds;
    return searchPage({ rows, matches: fitsColumns(search), limit, bounds: needed, monotonicMs });
  };
}

function fitsColumns(search: DeliverySearch): (row: Candidate) => boolean {
  const columns = columnsOf(search);
  const { untilMs = Infinity, gaveUpSinceMs = -Infinity, gaveUpUntilMs = Infinity, outcome, state } = search;
  const isAboutGivingUp = hasGaveUp(search);
  return (row) =>
    columns.every(([column, value]) => row[column] === value) &&
    row.created_at < untilMs &&
    (state !== "failed" || row.has_failed === 1) &&
    (outcome === undefined || row.outcomes?.split(",").includes(outcome) === true) &&
    (!isAboutGivingUp ||
      (row.state === "dead" &&
        row.ended_at !== null &&
        row.ended_at >= gaveUpSinceMs &&
        row.ended_at < gaveUpUntilMs));
}

function hasGaveUp({ gaveUpSinceMs, gaveUpUntilMs }: Selection): boolean {
  return gaveUpSinceMs !== undefined || gaveUpUntilMs !== undefined;
}

/** The filters, from the narrowest to the widest. */
function columnsOf(search: DeliverySearch): [Column, string][] {
  const { eventId, endpointId, state, type, verdict, cause } = search;
  const ofState = state === "failed" || state === "lost" ? undefined : state;
  const columns: [Column, string | undefined][] = [
    ["event_id", eventId],
    ["cause", cause],
    ["state", ofState === "delivered" ? undefined : (ofState ?? (hasGaveUp(search) ? "dead" : undefined))],
    ["verdict", verdict === "ok" ? undefined : verdict],
    ["endpoint_id", endpointId],
    ["event_type", type],
    ["verdict", verdict],
    ["state", ofState],
  ];
  return columns.flatMap(([column, value]) => (value === undefined ? [] : [[column, value]]));
}

/** Whether the index of the narrowest filter finds exactly the matches; a column may be listed twice. */
function isByOneColumn(search: DeliverySearch): boolean {
  const { state, isLast, outcome, untilMs } = search;
  const isLookedAt = state === "failed" || isLast === true || outcome !== undefined || untilMs !== undefined;
  const columns = columnsOf(search);
  return !isLookedAt && !hasGaveUp(search) && columns.every(([column]) => column === columns[0]?.[0]);
}
