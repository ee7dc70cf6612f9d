import { isDeepStrictEqual } from "node:util";
import type { Database } from "better-sqlite3";
import type { Envelope } from "../../shared/events.ts";
import type { ScheduleClock } from "./clock.ts";
import { parseExactly } from "./exact-json.ts";
import type { Meta } from "./meta.ts";
import { stableId } from "./random.ts";
import { eventSchema } from "./shapes.ts";
import { columnsOf, type Kept } from "./spelling.ts";
import { eventSummary } from "./world/event-types.ts";

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

  /** Returns an id that no event has. Ids have a counter of their own, so that replays change none of them. */
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
    /** An event that somebody recorded earlier, under its own id; undefined when another one has that id. */
    adopt(envelope: Envelope): StoredEvent | undefined {
      const known = find.get(envelope.id);
      if (known === undefined) return store(envelope, "replay", clock.now());
      // Whatever the order of the keys.
      const contents = [known.body.toString(), JSON.stringify(envelope)].map(parseExactly);
      return isDeepStrictEqual(contents[0], contents[1]) ? known : undefined;
    },
    newId,
    find: (id: string): StoredEvent | undefined => find.get(id),
  };
}
