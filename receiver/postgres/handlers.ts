import { hash, randomUUID } from "node:crypto";
import { z } from "zod";
import { GONE, keyOf } from "../store/job-rules.ts";
import type { JobHandler } from "../store/port.ts";
import { storable, type Database, type Query } from "./connection.ts";
import { SEARCH_PATH } from "./handler-sql.ts";
import type { EventRow } from "./intake.ts";
import { JOB_POLICY, SET_BOOKMARK } from "./schema.ts";

/** How long the handlers of a worker that is not seen any more are still there: a rolling deploy is shorter. */
export const GONE_SECONDS = 600;

const BATCH = 200;
const LONGEST_KEY = 200;

/**
 * The handlers of all workers that were seen in the ten minutes before the last one was. Of several definitions of one
 * handler the one that was announced first last is in use: an older worker that starts again does not change it.
 */
const LIST = `
  SELECT DISTINCT ON (handlers.name) handlers.name, definition FROM receiver.handlers JOIN (
    SELECT DISTINCT key AS name, value AS definition FROM receiver.workers, jsonb_each(definitions)
    WHERE seen_at > (SELECT max(seen_at) FROM receiver.workers) - interval '${String(GONE_SECONDS)} s') AS live USING (name, definition)
  ORDER BY handlers.name, first_at DESC`;
const SEEN = `
  WITH known AS (
    INSERT INTO receiver.handlers (name, definition) SELECT key, value FROM jsonb_each($2) ORDER BY key ON CONFLICT DO NOTHING)
  INSERT INTO receiver.workers VALUES ($1, $2, clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`;
const FORGET = `
  DELETE FROM receiver.workers WHERE seen_at < (SELECT max(seen_at) FROM receiver.workers) - interval '${String(2 * GONE_SECONDS)} s'`;
/** Ends a job as ignored; without a policy it holds back no other. */
export const CANCEL = `state = 'cancelled', completed_on = now(), policy = NULL, started_on = coalesce(started_on, now())`;
const IGNORE_GONE = `
  UPDATE receiver.job SET ${CANCEL},
    output = coalesce(output, '{}') || '{"cause": "${GONE}"}'
  WHERE name = ANY (ARRAY(SELECT name FROM receiver.queue WHERE split_part(name, '/', 1) <> ALL ($1)))
    AND (state < 'active' OR state = 'active' AND heartbeat_on < now() - heartbeat_seconds * interval '1 s')`;
const LIST_NEW = `
  SELECT seq, id, type, body, ceil(extract(epoch FROM received_at) * 1000000)::bigint AS at FROM receiver.events
  WHERE unwanted IS NULL AND body IS NOT NULL ORDER BY seq LIMIT ${String(BATCH)} FOR UPDATE`;
const SET_WANTED = `
  WITH jobs AS MATERIALIZED (SELECT DISTINCT id FROM json_to_recordset($2) AS job(id uuid))
  UPDATE receiver.events SET unwanted = id NOT IN (SELECT id FROM jobs) WHERE seq = ANY ($1::bigint[])`;
/** With its time of arrival to the microsecond, by which pg-boss orders jobs; its own insert gives a batch one time. */
export const ADD_JOBS = `
  INSERT INTO receiver.job (id, name, policy, singleton_key, created_on, ${JOB_POLICY.columns})
  SELECT id, name, CASE WHEN name LIKE '%/key' THEN 'key_strict_fifo' END, key,
    to_timestamp(0) + at * interval '1 microsecond', ${JOB_POLICY.values}
  FROM json_to_recordset($1) AS job(id uuid, name text, key text, at bigint) ON CONFLICT DO NOTHING`;
const FIND_MIGRATIONS = `SELECT value FROM receiver.bookmarks WHERE name = $1 FOR UPDATE`;
const LOCK = `SELECT pg_advisory_xact_lock(hashtext($1))`;

const definitionSchema = z.object({
  types: z.union([z.literal("*"), z.array(z.string())]),
  key: z.array(z.string()),
});

export type Announced = { name: string } & z.infer<typeof definitionSchema>;

/** The queue of a handler: one with a key has another, since pg-boss keeps the order of all jobs of a queue or of none. */
export function queueOf({ name, key }: Pick<JobHandler, "name" | "key">): string {
  return key.length > 0 ? `${name}/key` : name;
}

export async function announced(query: Query): Promise<Announced[]> {
  const rows = await query<{ name: string; definition: unknown }>(LIST);
  return rows.map(({ name, definition }) => ({ name, ...definitionSchema.parse(definition) }));
}

/** A row for each job that these handlers want of an event. */
export function jobsOf(
  { id, at, type }: Pick<EventRow, "id" | "at" | "type">,
  envelope: () => unknown,
  handlers: readonly Announced[],
): { id: string; at: number; name: string; key: string | null }[] {
  return handlers
    .filter(({ types }) => types === "*" || types.includes(type))
    .map(({ name, key }) => ({
      id,
      at,
      ...keyed(id, name, key.length > 0, key.length > 0 ? keyOf(envelope(), key) : null),
    }));
}

/** In a queue with keys each job has one: without a value, one that is nobody else's. */
export function keyed(id: string, name: string, isKeyed: boolean, key: string | null) {
  return isKeyed ? { name: `${name}/key`, key: key === null ? `/${id}` : short(key) } : { name, key: null };
}

/** An index holds no long text. */
function short(key: string): string {
  return key.length <= LONGEST_KEY
    ? storable(key)
    : `${storable(key.slice(0, LONGEST_KEY))}/${hash("sha256", key)}`;
}

/** What a worker says of its handlers, and what becomes of the jobs of those that are there no more. */
export function createAnnouncements(
  { schema, run, transaction }: Database,
  addQueue: (name: string) => Promise<void>,
) {
  const id = randomUUID();
  let own: readonly JobHandler[] = [];

  return {
    /** Runs the migrations that did not run yet, and announces. */
    begin: async (handlers: readonly JobHandler[]): Promise<void> => {
      own = handlers;
      for (const handler of handlers) {
        await migrate(handler);
        await addQueue(queueOf(handler));
      }
      await seen();
      await care();
    },
    seen,
    care,
    handlers: () => own,
  };

  async function seen(): Promise<void> {
    const definitions = own.map(({ name, types, key }) => [name, { types, key }]);
    await run(SEEN, [id, JSON.stringify(Object.fromEntries(definitions))]);
  }

  /** Ends jobs of handlers that are gone, and makes jobs of events that came before there were handlers. */
  async function care(): Promise<void> {
    const current = await announced(run);
    await run(FORGET);
    await run(IGNORE_GONE, [current.map(({ name }) => name)]);
    while ((await transaction(async (query) => catchUp(query, current))) === BATCH);
  }

  async function catchUp(query: Query, current: readonly Announced[]): Promise<number> {
    const events = await query<EventRow & { body: Buffer }>(LIST_NEW);
    if (events.length === 0) return 0;
    const jobs = events.flatMap((event) =>
      jobsOf(event, () => JSON.parse(event.body.toString("utf8")) as unknown, current),
    );
    await query(ADD_JOBS, [JSON.stringify(jobs)]);
    await query(SET_WANTED, [events.map(({ seq }) => seq), JSON.stringify(jobs)]);
    return events.length;
  }

  async function migrate({ name, migrations }: JobHandler): Promise<void> {
    if (migrations.length === 0) return;
    const bookmark = `migrations of ${name}`;
    await transaction(async (query, client) => {
      await client.query("SET LOCAL lock_timeout = '120s'; SET LOCAL statement_timeout = 0");
      await query(LOCK, [`${schema} ${bookmark}`]);
      await query(SEARCH_PATH);
      const [found] = await query<{ value: string }>(FIND_MIGRATIONS, [bookmark]);
      for (const [index, migration] of migrations.entries()) {
        if (index < Number(found?.value ?? 0)) continue;
        const text = typeof migration === "string" ? migration : migration.postgres;
        await client.query(text).catch((error: unknown) => {
          throw new Error(`migration ${String(index + 1)} of ${name} failed: ${String(error)}\n${text}`, {
            cause: error,
          });
        });
      }
      const count = Math.max(migrations.length, Number(found?.value ?? 0));
      await query(SET_BOOKMARK, [bookmark, String(count)]);
    });
  }
}
