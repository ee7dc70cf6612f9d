import type { QueryResultRow } from "pg";
import { z } from "zod";
import { GONE, keyOf } from "../store/job-rules.ts";
import type { JobHandler } from "../store/port.ts";
import { json, PATIENTLY, type Database, type Query } from "./connection.ts";
import { JOB_POLICY, UNWANTED, SET_BOOKMARK } from "./schema.ts";

const BATCH = 200;

/** The handlers that workers have announced. */
export const ANNOUNCED = `SELECT definition || jsonb_build_object('name', name) AS handler FROM receiver.announced`;
const SEEN = `
  INSERT INTO receiver.handlers (name, definition) SELECT key, value FROM jsonb_each($1) ORDER BY key
  ON CONFLICT (name, definition) DO UPDATE SET seen_at = clock_timestamp()`;
/** Ends a job as ignored. Without a policy it holds back no others. */
export const cancelled = (cause: string): string => `
  state = 'cancelled', completed_on = now(), policy = NULL, started_on = coalesce(started_on, now()),
  output = coalesce(output, '{}') || jsonb_build_object('cause', ${cause})`;
const IGNORE_GONE = `
  UPDATE receiver.job SET ${cancelled(`'${GONE}'`)}
  WHERE name <> '${UNWANTED}' AND name = ANY (ARRAY(SELECT name FROM receiver.queue WHERE split_part(name, '/', 1) NOT IN (SELECT name FROM receiver.announced)))
    AND (state < 'active' OR state = 'active' AND heartbeat_on < now() - heartbeat_seconds * interval '1 s')`;
const LIST_NEW = `
  SELECT id, type, body FROM receiver.job JOIN receiver.events USING (id)
  WHERE name = '${UNWANTED}' AND state < 'active' AND NOT blocked ORDER BY seq LIMIT ${String(BATCH)} FOR UPDATE OF job`;

/** pg-boss orders jobs by this value; jobs without one have no order. Hashed, because an index cannot hold a long text. */
export const KEY = `CASE WHEN name LIKE '%/key' THEN coalesce(encode(sha256(convert_to(key, 'UTF8')), 'hex'), id::text) END`;
/** With the time of arrival, by which pg-boss orders jobs; its own insert would give a whole batch the same time. */
export const addJobs = (events: string): string => `
  INSERT INTO receiver.job_common (id, name, state, policy, singleton_key, created_on, completed_on, ${JOB_POLICY.columns})
  SELECT id, name, coalesce(state, 'created')::receiver.job_state, CASE WHEN name LIKE '%/key' THEN 'key_strict_fifo' END, ${KEY},
    received_at, CASE WHEN state = 'cancelled' THEN received_at END, ${JOB_POLICY.values}
  FROM ${events} CROSS JOIN json_to_recordset(jobs) AS wanted(name text, key text, state text) ON CONFLICT DO NOTHING`;
/** Makes the jobs of stored events. Returns the ids of events that got one. */
const OFFER = `
  WITH given AS MATERIALIZED (SELECT * FROM json_to_recordset($1) AS given(id uuid, jobs json)),
    added AS (${addJobs("given JOIN receiver.events USING (id)")} RETURNING id),
    wanted AS (DELETE FROM receiver.job USING added WHERE job.name = '${UNWANTED}' AND job.id = added.id),
    unwanted AS (
      UPDATE receiver.job SET ${cancelled("NULL")} FROM given
      WHERE job.name = '${UNWANTED}' AND job.id = given.id AND job.state = 'created' AND json_array_length(jobs) = 0)
  SELECT DISTINCT id FROM added`;
const FIND_MIGRATIONS = `SELECT value FROM receiver.bookmarks WHERE name = $1`;
const LOCK = `SELECT pg_advisory_xact_lock(hashtext($1))`;

const typesSchema = z.union([z.literal("*"), z.array(z.string())]);
const announcedSchema = z.object({ name: z.string(), types: typesSchema, key: z.array(z.string()) });

export type Announced = z.infer<typeof announcedSchema>;

/** The queue of a handler. With a key it is another queue, since pg-boss orders either all jobs of a queue or none. */
export function queueOf({ name, key }: Pick<JobHandler, "name" | "key">): string {
  return key.length > 0 ? `${name}/key` : name;
}

/** What ANNOUNCED has found. */
export function announced(rows: readonly QueryResultRow[]): Announced[] {
  return rows.map(({ handler }) => announcedSchema.parse(JSON.parse(String(handler))));
}

/** The queue and the key of each job that these handlers want for an event. */
export function jobsOf(
  type: string,
  envelope: unknown,
  handlers: readonly Announced[],
): { name: string; key: string | null }[] {
  return handlers
    .filter(({ types }) => types === "*" || types.includes(type))
    .map((handler) => ({ name: queueOf(handler), key: keyOf(envelope, handler.key) }));
}

export type StoredEvent = { id: string; type: string; body: Buffer };

/** Makes the jobs that these handlers want for these events. Returns how many events got one. */
export async function offer(
  query: Query,
  events: readonly StoredEvent[],
  handlers: readonly Announced[],
): Promise<number> {
  const offered = events.map(({ id, type, body }) => ({
    id,
    jobs: jobsOf(type, JSON.parse(body.toString("utf8")), handlers),
  }));
  return (await query(OFFER, [json(offered)])).length;
}

/** Announces a worker's handlers, ends jobs of removed ones, and makes jobs of events older than the first announcement. */
export async function announce(
  { run, transaction }: Database,
  handlers: readonly JobHandler[],
): Promise<void> {
  const definitions = handlers.map(({ name, types, key }) => [name, { types, key }]);
  await run(SEEN, [JSON.stringify({ "": {}, ...Object.fromEntries(definitions) })]);
  await run(IGNORE_GONE);
  while ((await transaction(catchUp)) === BATCH);
}

async function catchUp(query: Query): Promise<number> {
  const events = await query<StoredEvent>(LIST_NEW);
  await offer(query, events, announced(await query(ANNOUNCED)));
  return events.length;
}

/** Runs the migrations that have not run yet. */
export async function migrate(
  { schema, transaction }: Database,
  { name, migrations }: JobHandler,
): Promise<void> {
  if (migrations.length === 0) return;
  const bookmark = `migrations of ${name}`;
  await transaction(async (query, client) => {
    await query(PATIENTLY);
    await query(LOCK, [`${schema} ${bookmark}`]);
    const [found] = await query<{ value: string }>(FIND_MIGRATIONS, [bookmark]);
    const ran = Number(found?.value ?? 0);
    for (const [index, migration] of migrations.entries()) {
      if (index < ran) continue;
      const text = typeof migration === "string" ? migration : migration.postgres;
      await client.query(text).catch((cause: unknown) => {
        const what = `migration ${String(index + 1)} of ${name} failed`;
        throw new Error(`${what}: ${String(cause)}\n${text}`, { cause });
      });
    }
    await query(SET_BOOKMARK, [bookmark, String(Math.max(migrations.length, ran))]);
  });
}
