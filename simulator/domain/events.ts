import type { Database } from "better-sqlite3";
import type { Envelope } from "../../shared/events.ts";
import type { ScheduleClock } from "./clock.ts";
import { stableId } from "./random.ts";
import { eventSummary } from "./world/event-summary.ts";

/** Who asked for an event: the business itself, a user, a replay, or the dashboard's test action. */
export type EventOrigin = "world" | "trigger" | "replay" | "test";

export type StoredEvent = {
  seq: number;
  id: string;
  type: string;
  orgId: string;
  createdAtMs: number;
  origin: EventOrigin;
  body: Buffer;
};

type EventRow = {
  seq: number;
  id: string;
  type: string;
  org_id: string;
  created_at: number;
  origin: EventOrigin;
  body: Buffer;
};

const INSERT = `
  INSERT INTO events (id, type, org_id, created_at, origin, body, summary) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const FIND = `SELECT * FROM events WHERE id = ?`;
const LIST = `SELECT * FROM events WHERE seq < ? AND type = coalesce(?, type) ORDER BY seq DESC LIMIT ?`;
// The counter of the table, not its last row: ids go on after a reset, since receivers remember them.
const LAST_SEQ = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'`;

export type EventLog = ReturnType<typeof createEventLog>;

/** Every event that the service emitted, with the exact bytes of its body. */
export function createEventLog(options: { database: Database; seed: number; clock: ScheduleClock }) {
  const { database, seed, clock } = options;
  const insert = database.prepare(INSERT);
  const find = database.prepare<[string], EventRow>(FIND);
  const list = database.prepare<[number, string | null, number], EventRow>(LIST);
  const lastSeq = database.prepare<[], number>(LAST_SEQ).pluck();

  function store(envelope: Envelope, origin: EventOrigin, createdAtMs: number): StoredEvent {
    const { id, type, org_id: orgId } = envelope;
    const body = Buffer.from(JSON.stringify(envelope));
    const { lastInsertRowid } = insert.run(
      id,
      type,
      orgId,
      createdAtMs,
      origin,
      body,
      eventSummary(envelope),
    );
    return { seq: Number(lastInsertRowid), id, type, orgId, createdAtMs, origin, body };
  }

  return {
    /** A new event of now, with a fresh id (SPEC §6 Delivery). */
    append(event: {
      type: string;
      orgId: string;
      object: Envelope["data"]["object"];
      origin: EventOrigin;
    }): StoredEvent {
      const createdAtMs = clock.now();
      const envelope = {
        id: this.nextId(),
        type: event.type,
        created: Math.floor(createdAtMs / 1000),
        api_version: "v1",
        data: { object: event.object },
        org_id: event.orgId,
      };
      return store(envelope, event.origin, createdAtMs);
    },
    /** An event that somebody recorded earlier, under its own id; undefined when that id is here already. */
    adopt(envelope: Envelope): StoredEvent | undefined {
      return find.get(envelope.id) === undefined ? store(envelope, "replay", clock.now()) : undefined;
    },
    /** The id that the next new event gets. */
    nextId: () => stableId("evt_", 32, seed, "event", (lastSeq.get() ?? 0) + 1),
    find(id: string): StoredEvent | undefined {
      const row = find.get(id);
      return row && fromRow(row);
    },
    /** Newest first; `before` is the `seq` to start below. */
    list(query: { limit: number; before?: number; type?: string }): StoredEvent[] {
      return list.all(query.before ?? Number.MAX_SAFE_INTEGER, query.type ?? null, query.limit).map(fromRow);
    },
  };
}

function fromRow(row: EventRow): StoredEvent {
  const { seq, id, type, org_id: orgId, created_at: createdAtMs, origin, body } = row;
  return { seq, id, type, orgId, createdAtMs, origin, body };
}
