import { hash } from "node:crypto";
import type { Acceptance, Intake, NewEvent, Refusal } from "../store/port.ts";
import { refusalOf, storable, type Database, type Query } from "./connection.ts";
import { ADD_JOBS, announced, jobsOf } from "./handlers.ts";

/**
 * Durable, also if the role or the database says otherwise. A webhook and reconcile must not store the same object at the
 * same time: reconcile waits for batches that are under way.
 */
const BEGIN = `
  SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END,
    CASE WHEN $1 THEN pg_advisory_xact_lock(hashtext($2)) ELSE pg_advisory_xact_lock_shared(hashtext($2)) END`;
/** Ids are inserted in their order, so that two batches never wait for each other in a circle. */
const ADD_EVENTS = `
  WITH given AS MATERIALIZED (
    SELECT g.*, nextval('receiver.seqs') AS seq, ceil(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + n AS at
    FROM json_to_recordset($1) AS g(n integer, id uuid, type text, object text, source text, wanted boolean, start integer, length integer))
  INSERT INTO receiver.events (seq, id, type, object_id, source, received_at, unwanted, body)
  SELECT seq, id, type, object, source, to_timestamp(0) + at * interval '1 microsecond', NOT wanted,
    substring($2::bytea FROM start FOR length)
  FROM given WHERE object IS NULL OR NOT EXISTS (
    SELECT FROM receiver.events AS twin WHERE object_id = object AND twin.type = given.type
      AND (twin.source = 'reconcile' OR given.source = 'reconcile'))
  ORDER BY id
  ON CONFLICT (id) DO NOTHING
  RETURNING replace(id::text, '-', '') AS id, round(extract(epoch FROM received_at) * 1000000)::bigint AS at`;
const NOTIFY = `SELECT pg_notify($1, '')`;
const COUNT_DUPLICATES = `
  WITH given AS MATERIALIZED (
    SELECT g.source, g.id, coalesce(
      (SELECT seq FROM receiver.events WHERE id = g.id), (SELECT seq FROM receiver.events WHERE alias = g.id),
      (SELECT seq FROM receiver.events WHERE object_id = g.object AND type = g.type
        AND (source = 'reconcile' OR g.source = 'reconcile') LIMIT 1)) AS seq
    FROM json_to_recordset($1) AS g(id uuid, type text, object text, source text)
  ), locked AS MATERIALIZED (
    SELECT seq FROM receiver.events WHERE seq = ANY (ARRAY(SELECT seq FROM given)) ORDER BY seq FOR UPDATE
  ), hits AS (
    SELECT seq, count(*) AS times, (array_agg(id) FILTER (WHERE source = 'webhook'))[1] AS alias FROM given JOIN locked USING (seq) GROUP BY seq)
  UPDATE receiver.events SET duplicates = duplicates + times,
    alias = CASE WHEN hits.alias <> id AND source = 'reconcile' THEN coalesce(events.alias, hits.alias) ELSE events.alias END
  FROM hits WHERE events.seq = hits.seq
  RETURNING replace(id::text, '-', '') AS id, encode(sha256(body), 'hex') AS sha256`;
const PROBE = `INSERT INTO receiver.bookmarks VALUES ('probe', '') ON CONFLICT (name) DO UPDATE SET value = ''`;

/** `at`: microseconds of Unix time when it was received. */
export type EventRow = { seq: number; id: string; type: string; at: number };

/** The channel that tells workers that something was stored. */
export const channelOf = (schema: string): string => `${schema}_stored`;

/** Takes events: one transaction for all that arrived together. */
export function createIntake({ schema, run, transaction, isClosed }: Database): Intake {
  return {
    accept: async (batch) => {
      if (batch.length === 0) return { ok: true, acceptances: [] };
      return refusing(async (onConnected) => ({
        ok: true as const,
        acceptances: await transaction(async (query) => {
          onConnected();
          return accept(query, batch);
        }),
      }));
    },
    probe: async () =>
      refusing(async () => {
        await run(PROBE);
        return { ok: true as const };
      }),
  };

  async function refusing<Result>(
    work: (onConnected: () => void) => Promise<Result>,
  ): Promise<Result | Refusal> {
    if (isClosed()) return { ok: false, reason: "closed", detail: "The receiver is shutting down." };
    let isConnected = false;
    try {
      return await work(() => (isConnected = true));
    } catch (error) {
      return refusalOf(error, isConnected);
    }
  }

  async function accept(query: Query, batch: readonly NewEvent[]): Promise<Acceptance[]> {
    const isReconcile = batch.some(({ source }) => source === "reconcile");
    await query(BEGIN, [isReconcile, `${schema} objects`]);
    const handlers = await announced(query);
    const rows = batch.map((event) => rowOf(event));
    // Of two with the same id, or of reconcile with the same object, the second is a duplicate.
    const seen = new Set<string>();
    const firsts = rows.flatMap((row, n) => {
      const keys = [row.id, ...(isReconcile && row.object !== null ? [`${row.type} ${row.object}`] : [])];
      const isNew = keys.every((key) => !seen.has(key));
      for (const key of keys) seen.add(key);
      return isNew ? [n] : [];
    });
    const added = await addEvents(query, firsts);
    const repeated = rows.filter((_, n) => !added.has(n));
    const hashes = repeated.length > 0 ? await countDuplicates(query, repeated) : undefined;
    return batch.map((event, n): Acceptance => {
      if (added.has(n)) return { duplicate: false };
      const storedSha256 = hashes?.get(rows[n]?.id ?? "");
      if (storedSha256 === undefined) return { duplicate: true };
      const receivedSha256 = hash("sha256", event.body);
      if (storedSha256 === receivedSha256) return { duplicate: true };
      return { duplicate: true, differs: { storedSha256, receivedSha256 } };
    });

    /** Returns the places of the events that are new. */
    async function addEvents(query: Query, places: readonly number[]): Promise<Set<number>> {
      let start = 1;
      const bodies: Uint8Array[] = [];
      const given = places.flatMap((n) => {
        const [row, event] = [rows[n], batch[n]];
        if (!row || !event) return [];
        const { length } = event.body;
        // Before the first announcement nobody knows whether it is wanted.
        const wanted =
          handlers.length === 0 ? null : jobsOf({ ...row, at: 0 }, () => null, handlers).length > 0;
        bodies.push(event.body);
        start += length;
        return [{ ...row, n, wanted, start: start - length, length }];
      });
      const stored = await query<{ id: string; at: number }>(ADD_EVENTS, [
        JSON.stringify(given),
        Buffer.concat(bodies),
      ]);
      const times = new Map(stored.map(({ id, at }) => [id, at]));
      const isNew = places.filter((n) => times.has(rows[n]?.id ?? ""));
      const jobs = isNew.flatMap((n) => {
        const [row, event] = [rows[n], batch[n]];
        return row && event
          ? jobsOf({ ...row, at: times.get(row.id) ?? 0 }, () => event.envelope, handlers)
          : [];
      });
      if (jobs.length > 0) {
        await query(ADD_JOBS, [JSON.stringify(jobs)]);
        await query(NOTIFY, [channelOf(schema)]);
      }
      return new Set(isNew);
    }
  }
}

async function countDuplicates(query: Query, rows: readonly Row[]): Promise<Map<string, string | undefined>> {
  const found = await query<{ id: string; sha256: string | null }>(COUNT_DUPLICATES, [JSON.stringify(rows)]);
  return new Map(found.map(({ id, sha256 }) => [id, sha256 ?? undefined]));
}

type Row = ReturnType<typeof rowOf>;

function rowOf({ id, type, objectId, source }: NewEvent) {
  return {
    id: hexOf(id),
    type: storable(type),
    object: objectId === null ? null : storable(objectId),
    source,
  };
}

/** The characters of an id that PostgreSQL takes for its 16 bytes: upper and lower case are the same. */
export function hexOf(id: string): string {
  return id.slice("evt_".length).toLowerCase();
}
