import type { Database } from "better-sqlite3";
import type { Attempts, AttemptSummary } from "./attempts.ts";
import { blameOf, type JudgedAttempt } from "./blame.ts";
import {
  NO_BOUNDS,
  PAGE_BOUNDS,
  phoneMatcher,
  roughPattern,
  searchPage,
  textMatcher,
  type SearchBounds,
} from "./bounded-search.ts";
import type { StateWord } from "./outcome.ts";
import { readFaults } from "./endpoints.ts";
import { type Fault, injectedFaults } from "./faults.ts";
import type { DeliveryShape, Handling, Kept, VerdictResult } from "./shapes.ts";
import { judgeDelivery } from "./verdict.ts";

/** What a list shows of one delivery. */
export type DeliverySummary = Kept<Omit<DeliveryShape, "object" | "faults" | "attempts" | "handling">> & {
  faults: Fault[];
  attempts: JudgedAttempt[];
  /** What the receiver tells of the event; undefined where nobody observes it. */
  handling: Handling | undefined;
};

export type DeliverySearch = {
  limit: number;
  /** Below the delivery with this id, which exists. */
  after?: string | undefined;
  endpointId?: string | undefined;
  eventId?: string | undefined;
  state?: StateWord | undefined;
  type?: string | undefined;
  verdict?: VerdictResult | undefined;
  /** Text that ids, type, summary, endpoint URL or payload have in them, whatever its case. */
  text?: string | undefined;
  /** How one of its attempts ended: a status such as `500`, or an error such as `timeout`. */
  outcome?: string | undefined;
  /** Digits of a phone number that the payload has in it, however it is written. */
  phone?: string | undefined;
  /** Created at or after `sinceMs`, before `untilMs`. */
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** Not sent again since, to an endpoint that is still there. */
  isLast?: boolean | undefined;
};

/** Newest first. With `next`, there may be more below the delivery that it names. */
export type DeliveryPage = { deliveries: DeliverySummary[]; next: string | null };

type Column = "endpoint_id" | "event_id" | "event_type" | "state" | "verdict";
type Candidate = Record<Column | "id", string> & {
  created_at: number;
  /** 1 where it gave up, or failed so far. */
  has_failed: number;
  /** How its attempts ended, with commas between. */
  outcomes: string | null;
};
type TextCandidate = Candidate & { summary: string; body: Buffer };

type SummaryRow = Omit<DeliverySummary, "faults" | "attempts" | "handling" | "verdict"> &
  Record<Exclude<keyof Handling, "isSettled" | "state">, number | null> & {
    faults: string;
    handlingState: string | null;
    isSettled: number | null;
    isAgain: number;
  };

// The plus keeps the subquery off the index of the endpoint, which would lead through all that it ever got.
const SUMMARIES = `
  SELECT d.id, d.event_id AS eventId, d.event_type AS eventType, e.org_id AS orgId, d.endpoint_id AS endpointId, d.state,
    d.created_at AS createdAtMs, d.next_attempt_at AS nextAttemptAtMs, d.faults, d.resend_of AS resendOf, e.summary,
    CASE d.state WHEN 'dead' THEN (
      SELECT l.id FROM deliveries l WHERE l.event_id = d.event_id AND +l.endpoint_id = d.endpoint_id AND l.seq > d.seq
        AND l.state = 'delivered' ORDER BY l.seq LIMIT 1
    ) END AS recoveredBy, h.handled, h.duplicates, h.state AS handlingState, h.is_settled AS isSettled,
    EXISTS (
      SELECT 1 FROM deliveries p WHERE p.event_id = d.event_id AND +p.endpoint_id = d.endpoint_id AND p.seq < d.seq
        AND (p.state = 'delivered' OR p.faults LIKE '%"drop-answer%' OR p.faults LIKE '%"time-out%')
    ) AS isAgain
  FROM deliveries d JOIN events e ON e.id = d.event_id
  LEFT JOIN handlings h ON h.event_id = d.event_id AND h.endpoint_id = d.endpoint_id
  WHERE d.id IN (SELECT value FROM json_each(?)) ORDER BY d.seq DESC`;
const COLUMNS = `d.id, d.event_id, d.event_type, d.endpoint_id, d.state, d.verdict, d.created_at,
  d.state = 'dead' OR d.state = 'attempting' AND d.attempts_made > (d.next_attempt_at IS NULL) AS has_failed`;
const CANDIDATES = `SELECT ${COLUMNS}, NULL AS outcomes FROM deliveries d`;
const TEXT_CANDIDATES = `
  SELECT ${COLUMNS}, NULL AS outcomes, e.summary, coalesce(d.body, e.body) AS body
  FROM deliveries d JOIN events e ON e.id = d.event_id`;
/**
 * About one row of 256 comes through although nobody looks for it, so that a search that finds nothing can give way. So
 * does one with a NUL, at which LIKE ends.
 */
const ROUGHLY = `((d.seq * 40503 >> 4) & 255 = 0 OR d.endpoint_id IN (SELECT value FROM json_each(?)) OR
  instr(d.event_type || e.summary, char(0)) > 0 OR
  d.id || ' ' || d.event_id || ' ' || d.endpoint_id || ' ' || d.event_type || ' ' || e.summary || ' ' ||
  CAST(coalesce(d.body, e.body) AS TEXT) LIKE ?)`;
const OUTCOMES = `
  (SELECT group_concat(coalesce(error, http_status)) FROM attempts WHERE delivery_seq = d.seq) AS outcomes`;
const BELOW = `d.seq < coalesce((SELECT seq FROM deliveries WHERE id = ?), 9223372036854775807)`;
/** Not sent again since, to an endpoint that is still there: of what gave up, this is lost. */
export const LAST = `
  EXISTS (SELECT 1 FROM endpoints WHERE id = d.endpoint_id AND deleted_at IS NULL)
  AND NOT EXISTS (
    SELECT 1 FROM deliveries l WHERE l.event_id = d.event_id AND +l.endpoint_id = d.endpoint_id AND l.seq > d.seq
  )`;
const URLS = `SELECT id, url FROM endpoints`;

export type DeliverySummaries = ReturnType<typeof createDeliverySummaries>;

/** Lists and searches of deliveries, without what was sent and answered; only a search for text reads the bodies. */
export function createDeliverySummaries(options: {
  database: Database;
  attempts: Attempts;
  monotonicMs: () => number;
  bounds?: SearchBounds;
}) {
  const { database, attempts, monotonicMs, bounds = PAGE_BOUNDS } = options;
  const summaries = database.prepare<[string], SummaryRow>(SUMMARIES);
  const urls = database.prepare<[], { id: string; url: string }>(URLS);

  function ofIds(ids: readonly string[]): DeliverySummary[] {
    const rows = summaries.all(JSON.stringify(ids));
    const made = attempts.summariesOf(ids);
    return rows.map((row) => fromRow(row, made.get(row.id) ?? []));
  }

  /** The narrowest filter walks its index; what it lets through is looked at one by one. */
  function* candidates<Row extends Candidate>(
    select: string,
    search: DeliverySearch,
    rough: string[] = [],
  ): Generator<Row> {
    const [narrowest] = filtersOf(search);
    const last = search.isLast === true ? ` AND ${LAST}` : "";
    const isLike = rough.length === 0 ? "" : ` AND ${ROUGHLY}`;
    const where = `${BELOW}${last}${isLike}${narrowest === undefined ? "" : ` AND d.${narrowest[0]} = ?`}`;
    const values = narrowest === undefined ? [] : [narrowest[1]];
    const columns = search.outcome === undefined ? select : select.replace("NULL AS outcomes", OUTCOMES);
    const sql = `${columns} WHERE ${where} ORDER BY d.seq DESC`;
    for (const row of database
      .prepare<unknown[], Row>(sql)
      .iterate(search.after ?? null, ...rough, ...values)) {
      // All that follow are older.
      if (row.created_at < (search.sinceMs ?? 0)) return;
      yield row;
    }
  }

  function findIds(search: DeliverySearch) {
    const { limit, text, phone, outcome } = search;
    const filters = filtersOf(search);
    const { untilMs = Infinity } = search;
    const fits = (row: Candidate) =>
      filters.every(([column, value]) => row[column] === value) &&
      row.created_at < untilMs &&
      (search.state !== "failed" || row.has_failed === 1) &&
      (outcome === undefined || row.outcomes?.split(",").includes(outcome) === true);
    if (text === undefined && phone === undefined) {
      const rows = candidates<Candidate>(CANDIDATES, search);
      const isLookedAt = search.state === "failed" || search.isLast === true || outcome !== undefined;
      const isFound = isByOneColumn(filters) && untilMs === Infinity;
      const needed = isFound && !isLookedAt ? NO_BOUNDS : bounds;
      return searchPage({ rows, matches: fits, limit, bounds: needed, monotonicMs });
    }
    const hasText = textMatcher(text ?? "");
    const hasPhone = phone === undefined ? () => true : phoneMatcher(phone);
    const places = new Set(urls.all().flatMap(({ id, url }) => (hasText(url) ? [id] : [])));
    const rough = text === undefined ? [] : [JSON.stringify([...places]), roughPattern(text)];
    const rows = candidates<TextCandidate>(TEXT_CANDIDATES, search, rough);
    const matches = (row: TextCandidate) =>
      fits(row) &&
      hasPhone(row.body.toString()) &&
      (places.has(row.endpoint_id) ||
        hasText(`${row.id} ${row.event_id} ${row.endpoint_id} ${row.event_type} ${row.summary}`) ||
        hasText(row.body.toString()));
    return searchPage({ rows, matches, limit, bounds, monotonicMs });
  }

  return {
    find: (id: string): DeliverySummary | undefined => ofIds([id])[0],
    /** Those that there are, newest first. */
    ofIds,
    page(search: DeliverySearch): DeliveryPage {
      const isLost = search.state === "lost";
      const { ids, next } = findIds(isLost ? { ...search, state: "dead", isLast: true } : search);
      return { deliveries: ofIds(ids), next };
    },
  };
}

/** From the filter that lets least through to the one that lets most. */
function filtersOf({ eventId, endpointId, state, type, verdict }: DeliverySearch): [Column, string][] {
  const filters: [Column, string | undefined][] = [
    ["event_id", eventId],
    ["state", state === "dead" || state === "attempting" ? state : undefined],
    ["verdict", verdict === "ok" ? undefined : verdict],
    ["endpoint_id", endpointId],
    ["event_type", type],
    ["verdict", verdict],
    ["state", state === "failed" ? undefined : state],
  ];
  return filters.flatMap(([column, value]) => (value === undefined ? [] : [[column, value]]));
}

/** Whether the index of the narrowest filter finds just what is asked for; a column may be in the list twice. */
function isByOneColumn(filters: readonly [Column, string][]): boolean {
  return filters.every(([column]) => column === filters[0]?.[0]);
}

function fromRow(row: SummaryRow, made: readonly AttemptSummary[]): DeliverySummary {
  const { handled, duplicates, handlingState, isSettled, isAgain, ...delivery } = row;
  const faults = readFaults(row.faults);
  const attempts = made.map((attempt) => {
    const injected = injectedFaults(faults, attempt.number);
    return { ...attempt, injected, blame: blameOf(attempt, injected) };
  });
  const handling =
    handled === null ? undefined : { handled, duplicates, state: handlingState, isSettled: isSettled === 1 };
  const isRecovered = row.recoveredBy !== null;
  const verdict = judgeDelivery({
    state: row.state,
    attempts,
    handling,
    isAgain: isAgain === 1,
    isRecovered,
  });
  return { ...delivery, faults, attempts, handling, verdict };
}
