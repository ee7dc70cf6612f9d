import { hash } from "node:crypto";
import type { Acceptance, Intake, NewEvent, Refusal } from "../store/port.ts";
import { json, refusalOf, together, type Database, type Query } from "./connection.ts";
import { addJobs, ANNOUNCED, announced, jobsOf, type Announced } from "./handlers.ts";
import { UNWANTED } from "./schema.ts";

/**
 * Durable, even if the role or the database has other defaults. A webhook and reconcile must not store the same object at the
 * same time, so reconcile waits for batches in progress.
 */
const first = (schema: string, isReconcile: boolean): string => `
  SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END,
    pg_advisory_xact_lock${isReconcile ? "" : "_shared"}(hashtext('${schema} objects'));
  ${ANNOUNCED}`;
/** Inserts ids in order, so that two batches never deadlock; of equal ids it takes the first. */
const ADD = `
  WITH given AS MATERIALIZED (
    SELECT g.*, nextval('receiver.seqs') AS seq, clock_timestamp() + n * interval '1 microsecond' AS at FROM json_to_recordset($1)
      AS g(n integer, id uuid, type text, object text, source text, start integer, length integer, jobs json)
  ), stored AS (
    INSERT INTO receiver.events (seq, id, type, object_id, source, received_at, body)
    SELECT seq, id, type, object, source, at, substring($2::bytea FROM start FOR length)
    FROM given WHERE object IS NULL OR NOT EXISTS (
      SELECT FROM receiver.events AS twin WHERE object_id = object AND twin.type = given.type
        AND (twin.source = 'reconcile' OR given.source = 'reconcile'))
    ORDER BY id, n
    ON CONFLICT (id) DO NOTHING
    RETURNING seq, received_at
  ), jobs AS (${addJobs("stored JOIN given USING (seq)")})
  SELECT n FROM stored JOIN given USING (seq)`;
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
const NOTIFY = `SELECT pg_notify($1, '')`;
const PROBE = `INSERT INTO receiver.bookmarks VALUES ('probe', '') ON CONFLICT (name) DO UPDATE SET value = ''`;

/** The channel that notifies workers of stored events. */
export const channelOf = (schema: string): string => `${schema}_stored`;

/** Stores events: one transaction for a batch. */
export function createIntake({ schema, run, transaction, isClosed }: Database): Intake {
  /** After the commit, since PostgreSQL lets transactions that notify commit only one at a time. Only shortens the wait. */
  const notify = together(async (all: readonly undefined[]) => {
    await run(NOTIFY, [channelOf(schema)]);
    return [...all];
  });

  return {
    accept: async (batch) =>
      refusing(async () => {
        const isReconcile = batch.some(({ source }) => source === "reconcile");
        const acceptances = await transaction(
          async (query, _, rows) => accept(query, batch, announced(rows)),
          { first: first(schema, isReconcile) },
        );
        void notify(undefined).catch(() => undefined);
        return { ok: true as const, acceptances };
      }),
    probe: async () =>
      refusing(async () => {
        await run(PROBE);
        return { ok: true as const };
      }),
  };

  async function refusing<Result>(work: () => Promise<Result>): Promise<Result | Refusal> {
    if (isClosed()) return { ok: false, reason: "closed", detail: "The receiver is shutting down." };
    try {
      return await work();
    } catch (error) {
      return refusalOf(error);
    }
  }

  async function accept(
    query: Query,
    batch: readonly NewEvent[],
    handlers: readonly Announced[],
  ): Promise<Acceptance[]> {
    const unwanted = { name: UNWANTED, key: null, state: handlers.length === 0 ? "created" : "cancelled" };
    let end = 1;
    const rows = batch.map(({ id, type, objectId: object, source, body, envelope }, n) => {
      const [start, { length }] = [end, body];
      end += length;
      const wanted = jobsOf(type, envelope, handlers);
      const jobs = wanted.length > 0 ? wanted : [unwanted];
      return { n, id: hexOf(id), type, object, source, start, length, jobs };
    });
    const bodies = Buffer.concat(batch.map(({ body }) => body));
    const added = await query<{ n: number }>(ADD, [json(rows), bodies]);
    const news = new Set(added.map(({ n }) => n));
    const repeated = rows.filter(({ n }) => !news.has(n));
    const found =
      repeated.length === 0
        ? []
        : await query<{ id: string; sha256: string | null }>(COUNT_DUPLICATES, [json(repeated)]);
    const hashes = new Map(found.map(({ id, sha256 }) => [id, sha256]));
    return batch.map(({ id, body }, n): Acceptance => {
      if (news.has(n)) return { duplicate: false };
      const storedSha256 = hashes.get(hexOf(id)) ?? undefined;
      const receivedSha256 = hash("sha256", body);
      if (storedSha256 === undefined || storedSha256 === receivedSha256) return { duplicate: true };
      return { duplicate: true, differs: { storedSha256, receivedSha256 } };
    });
  }
}

/** The characters of an id that PostgreSQL converts to its 16 bytes; case does not matter. */
export function hexOf(id: string): string {
  return id.slice("evt_".length).toLowerCase();
}
