import { PgBoss, type Db } from "pg-boss";
import { PATIENTLY, type Database, type Query } from "./connection.ts";

/** The oldest server that pg-boss supports. */
const OLDEST_VERSION = 130_000;
const VERSION = "1";

/** How long handlers count as announced after their worker was last seen: longer than a rolling deploy. */
const GONE_SECONDS = 600;

/** The queue of events that no handler wants. Their jobs are cancelled; before the first announcement they wait. */
export const UNWANTED = "/unwanted";

/**
 * Tables of schema 1, beside pg-boss's own in the same schema. An event's job has the event's id in the handler's queue.
 * Tables from handlers' migrations are in `receiver_handlers`.
 */
const CREATE = `
  CREATE SCHEMA IF NOT EXISTS receiver_handlers;
  CREATE SEQUENCE receiver.seqs;
  CREATE TABLE receiver.events (
    seq bigint PRIMARY KEY,
    id uuid NOT NULL UNIQUE,                  -- the 32 hexadecimal characters of the event id
    alias uuid,                               -- the service's id of an event that reconcile had enqueued before
    type text,
    object_id text,
    source text,
    received_at timestamptz NOT NULL,
    duplicates integer NOT NULL DEFAULT 0,
    handled integer,                          -- set when the event is pruned
    body bytea                                -- null once the event is pruned
  );
  COMMENT ON TABLE receiver.events IS '${VERSION}';
  ALTER TABLE receiver.events ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX ON receiver.events (alias) WHERE alias IS NOT NULL;
  CREATE INDEX ON receiver.events USING hash (object_id) WHERE object_id IS NOT NULL;
  CREATE INDEX ON receiver.events (seq) WHERE body IS NOT NULL;
  CREATE INDEX ON receiver.events USING brin (received_at) WITH (autosummarize = on);

  CREATE TABLE receiver.handlers (            -- each definition of a handler that a worker has announced; '' is the worker
    name text, definition jsonb, first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (name, definition)
  );
  CREATE VIEW receiver.announced AS           -- by name, the definition in use: what was announced first last
    SELECT DISTINCT ON (name) name, definition FROM receiver.handlers
    WHERE name <> '' AND seen_at > (SELECT max(seen_at) FROM receiver.handlers) - interval '${String(GONE_SECONDS)} s'
    ORDER BY name, first_at DESC;
  CREATE TABLE receiver.steps (
    id uuid, handler text, name text, result text NOT NULL, PRIMARY KEY (id, handler, name)
  );
  CREATE TABLE receiver.bookmarks (name text PRIMARY KEY, value text NOT NULL);
  -- Of pg-boss's own indexes none finds what runs, is dead or ignored.
  CREATE INDEX receiver_aside ON receiver.job (state, id) WHERE state IN ('active', 'failed', 'cancelled')`;

/** Not by `to_regclass`, which may still answer from a cache of before the wait for the lock. */
const FIND = `
  SELECT max(oid) IS NOT NULL AS "isThere", max(obj_description(oid, 'pg_class')) AS schema,
    current_setting('server_version_num')::integer AS version
  FROM pg_class WHERE relname = 'events' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`;
type Found = { isThere: 0 | 1; schema: string | null; version: number };
const LOCK = `SELECT pg_advisory_xact_lock(hashtext($1))`;

export const SET_BOOKMARK = `
  INSERT INTO receiver.bookmarks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** How pg-boss keeps our jobs: they never expire, and only our own statements end them. */
export const JOB_POLICY = {
  columns: "keep_until, retry_limit, expire_seconds, deletion_seconds, heartbeat_seconds",
  values: "'infinity', 1000, 86400, 0, 25",
};

/** pg-boss on our connections. It is not started, so it runs nothing by itself. */
export function createBoss({ schema, run }: Database): PgBoss {
  const db: Db = { executeSql: async (text, values) => ({ rows: await run(text, values) }) };
  const boss = new PgBoss({ db, schema, schedule: false, supervise: false });
  // Errors are also thrown. An `error` event without a listener would end the process.
  return boss.on("error", () => undefined);
}

/** Creates a handler's queue if it does not exist. One with a key keeps its jobs in order. */
export async function addQueue(boss: PgBoss, name: string): Promise<void> {
  await boss.createQueue(name, name.endsWith("/key") ? { policy: "key_strict_fifo" } : {});
}

/** Creates the tables if they do not exist. If they do, no right to create anything is needed. */
export async function createSchema(database: Database): Promise<void> {
  const { schema, run, transaction } = database;
  const find = async (query: Query): Promise<Found | undefined> => (await query<Found>(FIND, [schema]))[0];
  const before = await find(run);
  if (before && before.version < OLDEST_VERSION) {
    const major = String(Math.floor(before.version / 10_000));
    throw new Error(`PostgreSQL ${major} is too old. Use 13 or newer.`);
  }
  if (!before?.isThere)
    await transaction(async (query) => {
      await query(PATIENTLY);
      await query(LOCK, [schema]);
      if ((await find(query))?.isThere) return;
      // Commits by itself, on another connection.
      const boss = createBoss(database);
      await boss.start();
      await addQueue(boss, UNWANTED);
      await boss.stop({ graceful: false, close: false });
      await query(CREATE);
    });
  if ((await find(run))?.schema !== VERSION)
    throw new Error(
      `The schema ${schema} is not of this version. Set DATABASE_SCHEMA to another name, such as ${schema}_2, or drop it.`,
    );
}
