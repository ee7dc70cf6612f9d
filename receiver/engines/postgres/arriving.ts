import { isFinished, type MovedAlias, type MovedEvent } from "../moved-event.ts";
import { createPool, retryingConflicts } from "./connection.ts";
import { loadPackages } from "./packages.ts";
import { milliseconds, objectKey, storable, uuidOf } from "./text.ts";

const CONNECT_TIMEOUT_MS = 5_000;

const at = (column: string): string => `to_timestamp(given."${column}" / 1000.0)`;
const STATE_COLUMNS = `
  state text, attempts integer, crashes integer, handled integer, duplicates integer, "dueAtMs" double precision,
  "finishedAtMs" double precision, "lastError" text`;

/**
 * A batch and how far it goes, in one statement: after a crash the next one begins where this ended. What isn't finished
 * is claimed by the move, whose lease has no end: nobody handles it before it is handed over.
 */
const ARRIVE = `
  WITH given AS MATERIALIZED (
    SELECT g.*, nextval('receiver.seqs') AS seq FROM json_to_recordset($1) AS g(
      n integer, id uuid, type text, object uuid, reconciled boolean, "receivedAtMs" double precision, finished boolean,
      start integer, length integer, ${STATE_COLUMNS}) ORDER BY n
  ), ids AS (
    INSERT INTO receiver.ids (id, seq, day, handled)
    SELECT id, seq, floor("receivedAtMs" / 86400000), CASE WHEN state = 'pruned' THEN handled ELSE 0 END
    FROM given ORDER BY id
    ON CONFLICT (id) DO NOTHING
    RETURNING id, seq
  ), objects AS (
    INSERT INTO receiver.objects (key, seq, reconciled)
    SELECT DISTINCT ON (object) object, seq, reconciled FROM given JOIN ids USING (id, seq)
    WHERE object IS NOT NULL ORDER BY object, n
    ON CONFLICT (key) DO NOTHING
  ), events AS (
    INSERT INTO receiver.events (seq, id, type, object, reconciled, received_at, duplicates, state, attempts, token, worker,
      crashes, handled, finished_at, last_error, body)
    SELECT seq, id, type, object, reconciled, ${at("receivedAtMs")}, duplicates,
      CASE WHEN finished THEN state ELSE 'claimed' END, attempts, 1, CASE WHEN NOT finished THEN $3 END,
      crashes, handled, ${at("finishedAtMs")}, "lastError", substring($2::bytea FROM start FOR length)
    FROM given JOIN ids USING (id, seq) WHERE state <> 'pruned'
    ORDER BY seq
  ), mark AS (
    INSERT INTO receiver.bookmarks VALUES ($3, $4) ON CONFLICT (name) DO UPDATE SET value = excluded.value
  )
  SELECT given.n FROM given JOIN ids USING (id, seq)`;

const ARRIVE_ALIASES = `
  WITH given AS (SELECT * FROM json_to_recordset($1) AS g(id uuid, of uuid, "receivedAtMs" double precision))
  INSERT INTO receiver.ids (id, seq, day, alias, handled)
  SELECT given.id, ids.seq, floor("receivedAtMs" / 86400000), true, ids.handled
  FROM given JOIN receiver.ids ON ids.id = given.of ORDER BY given.id
  ON CONFLICT (id) DO NOTHING`;

const CLAIM_FOREVER = `INSERT INTO receiver.workers VALUES ($1, NULL, 'infinity') ON CONFLICT (id) DO NOTHING`;
const RESIGN = `DELETE FROM receiver.workers WHERE id = $1`;
const LIST_HELD = `
  SELECT seq, 'evt_' || replace(id::text, '-', '') AS id FROM receiver.events
  WHERE state = 'claimed' AND worker = $1 AND seq > $2 ORDER BY seq LIMIT $3`;
const HAND_OVER = `
  WITH given AS (SELECT * FROM json_to_recordset($1) AS g(seq bigint, ${STATE_COLUMNS}))
  UPDATE receiver.events SET state = given.state, attempts = given.attempts, crashes = given.crashes,
    handled = given.handled, duplicates = greatest(events.duplicates, given.duplicates), due_at = ${at("dueAtMs")},
    finished_at = ${at("finishedAtMs")}, last_error = given."lastError", worker = NULL, token = token + 1
  FROM given WHERE events.seq = given.seq AND events.state = 'claimed' AND events.worker = $2
  RETURNING events.seq`;

const READ_BACK = `
  SELECT 'evt_' || replace(ids.id::text, '-', '') AS id, coalesce(events.state, 'pruned') AS state,
    coalesce(events.handled, ids.handled) AS handled, events.attempts, ${milliseconds("events.received_at")} AS "receivedAtMs",
    encode(sha256(events.body), 'hex') AS hash
  FROM receiver.ids LEFT JOIN receiver.events USING (seq) WHERE ids.id = ANY ($1::uuid[])`;

const REMEMBER_PRUNED = `
  UPDATE receiver.facts SET pruned_before = greatest(pruned_before, to_timestamp($1::double precision / 1000.0))`;
const FIND_BOOKMARK = `SELECT value FROM receiver.bookmarks WHERE name = $1`;
const SET_BOOKMARK = `INSERT INTO receiver.bookmarks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const ADD_BOOKMARK = `INSERT INTO receiver.bookmarks VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`;

/** An event as it arrived: what is compared with the original. */
export type Arrived = Pick<MovedEvent, "id" | "handled" | "state"> & {
  attempts: number | null;
  receivedAtMs: number | null;
  hash: string | null;
};

export type ArrivingInbox = Awaited<ReturnType<typeof openArriving>>;

/** The side of PostgreSQL of a move called `name`, into tables that are there. */
export async function openArriving(options: { url: string; name: string }) {
  const { url, name } = options;
  const pool = createPool(await loadPackages(), {
    url,
    purpose: "move",
    connections: 2,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  const run = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> =>
    retryingConflicts(async () => (await pool.query<Row>(text, values)).rows);

  return {
    /** Stores what isn't there yet, and answers how much that was. */
    arrive: async (batch: readonly MovedEvent[]): Promise<number> => {
      await run(CLAIM_FOREVER, [name]);
      let start = 1;
      const rows = batch.map((event, n) => {
        const length = event.body?.length ?? 0;
        start += length;
        return { ...rowOf(event), n, start: start - length, length };
      });
      const bodies = Buffer.concat(batch.map(({ body }) => body ?? Buffer.alloc(0)));
      const last = String(batch.at(-1)?.seq ?? 0);
      return (await run(ARRIVE, [JSON.stringify(rows), bodies, name, last])).length;
    },
    arriveAliases: async (aliases: readonly MovedAlias[]): Promise<void> => {
      const rows = aliases.map((one) => ({ ...one, id: uuidOf(one.id), of: uuidOf(one.of) }));
      await run(ARRIVE_ALIASES, [JSON.stringify(rows)]);
    },
    /** The next of those that the move holds, because they weren't finished. */
    held: async (afterSeq: number, limit: number): Promise<{ seq: number; id: string }[]> =>
      run(LIST_HELD, [name, afterSeq, limit]),
    /** Lets go of them, as they have become; `seq` is of this inbox. Answers how many there were. */
    handOver: async (events: readonly MovedEvent[]): Promise<number> => {
      const rows = events.map((event) => ({ ...rowOf(event), seq: event.seq, state: settledState(event) }));
      return (await run(HAND_OVER, [JSON.stringify(rows), name])).length;
    },
    readBack: async (ids: readonly string[]): Promise<Map<string, Arrived>> => {
      const rows = await run<Arrived>(READ_BACK, [ids.map(uuidOf)]);
      return new Map(rows.map((row) => [row.id, row]));
    },
    /** How far a step of the move has come, by the seq of the inbox that is left. */
    position: async (step: string): Promise<number> =>
      Number((await run<{ value: string }>(FIND_BOOKMARK, [bookmarkOf(step)]))[0]?.value ?? 0),
    setPosition: async (step: string, seq: number): Promise<void> => {
      await run(SET_BOOKMARK, [bookmarkOf(step), String(seq)]);
    },
    addBookmark: async (bookmark: { name: string; value: string }): Promise<void> => {
      await run(ADD_BOOKMARK, [bookmark.name, bookmark.value]);
    },
    rememberPruned: async (beforeMs: number): Promise<void> => {
      if (beforeMs > 0) await run(REMEMBER_PRUNED, [beforeMs]);
    },
    resign: async (): Promise<void> => {
      await run(RESIGN, [name]);
    },
    close: async (): Promise<void> => pool.end(),
  };

  function bookmarkOf(step: string): string {
    return step === "arrived" ? name : `${name} ${step}`;
  }
}

function rowOf(event: MovedEvent): Record<string, unknown> {
  const { id, type, objectId, source, body: _body, lastError, ...rest } = event;
  return {
    ...rest,
    id: uuidOf(id),
    type: storable(type),
    object: objectId === null ? null : objectKey(type, objectId),
    reconciled: source === "reconcile",
    lastError: lastError === null ? null : storable(lastError),
    finished: isFinished(event.state),
  };
}

/** Finished and pruned while the move held it: here it still has its body. */
function settledState({ state, handled }: MovedEvent): string {
  if (state !== "pruned") return state;
  return handled > 0 ? "done" : "ignored";
}
