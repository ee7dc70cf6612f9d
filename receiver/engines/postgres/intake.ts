import { hash } from "node:crypto";
import type { Acceptance, AcceptResult, Intake, NewEvent, Refusal } from "../../engine.ts";
import { refusalOf, withRetries, type Client, type Pool, type Prepare } from "./connection.ts";
import { makeJobs, offerOf } from "./offers.ts";
import { objectKey, storable, uuidOf } from "./text.ts";

/** The channel that tells workers that something was stored: one for each inbox of a database. */
export const channelOf = (schema: string): string => `${schema}_stored`;

/**
 * Event rows, their jobs and the notification of workers, in one statement. Ids are inserted in their order, and objects
 * before them in theirs, so that two batches never wait for each other in a circle.
 *
 * Where somebody has turned synchronous commits off, this one is synchronous all the same: an acknowledgement means
 * that the event is on disk.
 */
const ACCEPT = `
  WITH durable AS MATERIALIZED (
    SELECT CASE current_setting('synchronous_commit')
      WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END
  ), given AS MATERIALIZED (
    SELECT g.*, nextval('receiver.seqs') AS seq
    FROM durable, json_to_recordset($1) AS g(
      n integer, id uuid, spelling text, type text, object uuid, reconciled boolean, trace jsonb, start integer, length integer)
  ), objects AS (
    INSERT INTO receiver.objects AS known (key, seq, reconciled)
    SELECT DISTINCT ON (object) object, seq, reconciled FROM given
    -- Not by NOT EXISTS: its plan, made while the table is small, reads the whole table for every batch.
    WHERE object IS NOT NULL AND (SELECT true FROM receiver.ids WHERE ids.id = given.id) IS NULL
    ORDER BY object, n
    -- Changes nothing, but waits for whoever is inserting the same and answers what is there.
    ON CONFLICT (key) DO UPDATE SET key = excluded.key
    RETURNING key, seq, reconciled
  ), ids AS (
    INSERT INTO receiver.ids (id, seq, day, alias)
    SELECT given.id, coalesce(same.seq, given.seq), extract(epoch FROM now()) / 86400, same.seq IS NOT NULL
    FROM given LEFT JOIN objects AS same
      ON same.key = given.object AND same.seq <> given.seq AND (same.reconciled OR given.reconciled)
    ORDER BY given.id
    ON CONFLICT (id) DO NOTHING
    RETURNING id, seq
  ), events AS (
    INSERT INTO receiver.events (seq, id, spelling, type, object, reconciled, trace, offer, body)
    SELECT seq, id, spelling, type, object, reconciled, trace, ${offerOf("type")}, substring($2::bytea FROM start FOR length)
    FROM given JOIN ids USING (id, seq)
    ORDER BY seq
    RETURNING seq, type, received_at, attempts, due_at, last_error
  ), jobs AS (${makeJobs("events")}
  ), told AS (
    SELECT pg_notify($3, '') FROM (SELECT FROM events LIMIT 1) AS anything WHERE $3 IS NOT NULL
  )
  SELECT n FROM given JOIN events USING (seq) LEFT JOIN told ON true`;

/** Locks the rows in the order of `seq`, as all statements do that lock several: so none waits for another in a circle. */
const COUNT_DUPLICATES = `
  WITH known AS (
    SELECT ids.seq, count(*) AS times FROM unnest($1::uuid[]) AS given(id) JOIN receiver.ids USING (id)
    WHERE ids.id = ANY ($1::uuid[]) GROUP BY ids.seq),
  locked AS MATERIALIZED (
    SELECT seq FROM receiver.events WHERE seq = ANY (ARRAY(SELECT seq FROM known)) ORDER BY seq FOR UPDATE)
  UPDATE receiver.events SET duplicates = duplicates + known.times
  FROM known JOIN locked USING (seq) WHERE events.seq = known.seq
  RETURNING replace(events.id::text, '-', '') AS id, encode(sha256(events.body), 'hex') AS hash`;

/** An event that is stored with its jobs and rolled back, to see that all is there that acknowledging takes. */
const PROBE: Omit<NewEvent, "type"> = {
  id: `evt_${"0".repeat(32)}`,
  objectId: "probe",
  source: "webhook",
  body: Buffer.from("{}"),
  trace: null,
};
/** A type that a handler asks for, so that the probe has jobs; none where nobody is there, or each takes every type. */
const FIND_WANTED = `SELECT min(types[1]) AS type FROM receiver.handlers WHERE current`;

/** The way in: a batch is one statement, and a second one when there were duplicates to count. */
export function createIntake(pool: Pool, prepare: Prepare, channel: string | null): Intake {
  return {
    accept: async (batch) =>
      batch.length === 0
        ? { ok: true, acceptances: [] }
        : onConnection(async (client) => acceptAll(client, batch)),
    probe: async () =>
      onConnection(async (client) => {
        await client.query("BEGIN");
        const { rows: wanted } = await client.query<{ type: string | null }>(prepare(FIND_WANTED));
        await acceptAll(client, [{ ...PROBE, type: wanted[0]?.type ?? "receiver.probe" }]);
        await client.query("ROLLBACK");
        return { ok: true };
      }),
  };

  async function onConnection<Result>(work: (client: Client) => Promise<Result>): Promise<Result | Refusal> {
    if (pool.ending) return { ok: false, reason: "closed", detail: "The receiver is shutting down." };
    let connected = false;
    try {
      return await withRetries(pool, async (client) => {
        connected = true;
        return work(client);
      });
    } catch (error) {
      return refusalOf(error, connected);
    }
  }

  async function acceptAll(client: Client, batch: readonly NewEvent[]): Promise<AcceptResult> {
    const keys = batch.map(({ id }) => uuidOf(id));
    // Of two with the same id, the second is a duplicate.
    const first = new Map(keys.map((key, n) => [key, n] as const).toReversed());
    const firsts = batch.flatMap((event, n) => (first.get(uuidOf(event.id)) === n ? [{ event, n }] : []));
    const isNew = await insert(client, firsts);
    const repeated = keys.filter((_, n) => !isNew.has(n));
    const hashes = repeated.length > 0 ? await countDuplicates(client, repeated) : undefined;
    const acceptances = batch.map((event, n): Acceptance => {
      if (isNew.has(n)) return { duplicate: false };
      const storedSha256 = hashes?.get(uuidOf(event.id));
      const receivedSha256 = hash("sha256", event.body);
      if (storedSha256 === undefined || storedSha256 === receivedSha256) return { duplicate: true };
      return { duplicate: true, differs: { storedSha256, receivedSha256 } };
    });
    return { ok: true, acceptances };
  }

  /** Stores events of which no two have the same id. Answers the places of the new ones. */
  async function insert(
    client: Client,
    events: readonly { event: NewEvent; n: number }[],
  ): Promise<Set<number>> {
    let start = 1;
    const rows = events.map(({ event, n }) => {
      const id = uuidOf(event.id);
      start += event.body.length;
      return {
        n,
        id,
        spelling: event.id === `evt_${id}` ? null : event.id,
        type: storable(event.type),
        object: event.objectId === null ? null : objectKey(event.type, event.objectId),
        reconciled: event.source === "reconcile",
        trace: event.trace,
        start: start - event.body.length,
        length: event.body.length,
      };
    });
    const bodies = Buffer.concat(events.map(({ event }) => event.body));
    const values = [JSON.stringify(rows), bodies, channel];
    const { rows: fresh } = await client.query<{ n: number }>(prepare(ACCEPT, values));
    return new Set(fresh.map(({ n }) => n));
  }

  /** Answers the hashes of the stored bodies, by id; none for an id that is another's alias or whose event was pruned. */
  async function countDuplicates(client: Client, keys: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await client.query<{ id: string; hash: string }>(prepare(COUNT_DUPLICATES, [keys]));
    return new Map(rows.map(({ id, hash }) => [id, hash]));
  }
}
