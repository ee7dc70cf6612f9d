import { isDeepStrictEqual } from "node:util";
import type { Envelope } from "../../shared/events.ts";
import type { ScheduleClock } from "./clock.ts";
import { parseExactly } from "./exact-json.ts";
import type { Meta } from "./meta.ts";
import { stableId } from "./random.ts";
import { columnsOf, type Kept } from "./spelling.ts";
import { eventSummary } from "./world/event-types.ts";
import type { Database } from "better-sqlite3";
import {
  type FoundPage,
  NO_BOUNDS,
  PAGE_BOUNDS,
  searchPage,
  textMatcher,
  type SearchBounds,
} from "./bounded-search.ts";
import { eventSchema } from "./shapes.ts";

export type EventSummary = Kept<typeof eventSchema>;

export type StoredEvent = Omit<EventSummary, "summary"> & { seq: number; body: Buffer };

const INSERT = `
  INSERT INTO events (id, type, org_id, created_at, origin, body, summary) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const FIND = `SELECT seq, ${columnsOf(eventSchema, ["summary"])}, body FROM events WHERE id = ?`;

export type EventLog = ReturnType<typeof createEventLog>;

/** Every event that the service emitted, with the exact bytes of its body. */
export function createEventLog(options: {
  database: Database;
  seed: number;
  clock: ScheduleClock;
  meta: Meta;
}) {
  const { database, seed, clock, meta } = options;
  const insert = database.prepare(INSERT);
  const find = database.prepare<[string], StoredEvent>(FIND);

  function store(envelope: Envelope, origin: StoredEvent["origin"], createdAtMs: number): StoredEvent {
    const { id, type, org_id: orgId } = envelope;
    const body = Buffer.from(JSON.stringify(envelope));
    const summary = eventSummary(envelope);
    const { lastInsertRowid } = insert.run(id, type, orgId, createdAtMs, origin, body, summary);
    return { seq: Number(lastInsertRowid), id, type, orgId, createdAtMs, origin, body };
  }

  /** Returns an unused event id. Ids have their own counter, so that replays do not change them. */
  function newId(): string {
    for (;;) {
      const id = stableId("evt_", 32, { seed, purpose: "event", index: meta.count("event_ids") });
      if (find.get(id) === undefined) return id;
    }
  }

  return {
    /** A new event of now, with a fresh id (SPEC §6 Delivery). */
    append(event: Pick<StoredEvent, "type" | "orgId" | "origin"> & Envelope["data"]): StoredEvent {
      const createdAtMs = clock.now();
      const envelope = {
        id: newId(),
        type: event.type,
        created: Math.floor(createdAtMs / 1000),
        api_version: "v1",
        data: { object: event.object },
        org_id: event.orgId,
      };
      return store(envelope, event.origin, createdAtMs);
    },
    /** A recorded event, under its own id; undefined if another event has that id. */
    adopt(envelope: Envelope): StoredEvent | undefined {
      const known = find.get(envelope.id);
      if (known === undefined) return store(envelope, "replay", clock.now());
      // Independent of the order of keys.
      const contents = [known.body.toString(), JSON.stringify(envelope)].map(parseExactly);
      return isDeepStrictEqual(contents[0], contents[1]) ? known : undefined;
    },
    newId,
    find: (id: string): StoredEvent | undefined => find.get(id),
  };
}

export type EventSearch = {
  limit: number;
  after?: string | undefined;
  type?: string | undefined;
  orgId?: string | undefined;
  /** Text in the id, type, summary or payload, without regard to case. */
  text?: string | undefined;
};

/** Newest first. With `next`, there may be more below that event. */
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
