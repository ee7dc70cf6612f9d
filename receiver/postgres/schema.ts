import { PgBoss, type Db } from "pg-boss";
import type { Database, Query } from "./connection.ts";

/** The oldest server that pg-boss works on. */
const OLDEST_VERSION = 130_000;
const VERSION = "1";

/** How long the handlers of a worker that is not seen any more are still there: a rolling deploy is shorter. */
const GONE_SECONDS = 600;

/**
 * Tables of schema 1, beside pg-boss's own in the same schema. The job of an event has the event's id in the handler's
 * queue. Tables that handlers' migrations make are in `receiver_handlers`.
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
    unwanted boolean,                         -- null until there are handlers that could want it
    handled integer,                          -- set when the event is pruned
    body bytea                                -- null once the event is pruned
  );
  ALTER TABLE receiver.events ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX ON receiver.events (alias) WHERE alias IS NOT NULL;
  CREATE INDEX ON receiver.events USING hash (object_id) WHERE object_id IS NOT NULL;
  CREATE INDEX ON receiver.events (seq) WHERE unwanted IS NULL;
  CREATE INDEX ON receiver.events (seq) WHERE unwanted;
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
  INSERT INTO receiver.bookmarks VALUES ('schema', '${VERSION}');
  -- Of pg-boss's own indexes none finds what runs, is dead or ignored.
  CREATE INDEX receiver_aside ON receiver.job (state, id) WHERE state IN ('active', 'failed', 'cancelled')`;

const FIND = `
  SELECT to_regclass($1) IS NOT NULL AS "hasBookmarks", current_setting('server_version_num')::integer AS version,
    current_setting('server_encoding') AS encoding`;
const FIND_VERSION = `SELECT value FROM receiver.bookmarks WHERE name = 'schema'`;
const LOCK = `SELECT pg_advisory_xact_lock(hashtext($1))`;

export const SET_BOOKMARK = `
  INSERT INTO receiver.bookmarks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** How pg-boss is to keep our jobs: they never expire, and our own statements alone end them. */
export const JOB_POLICY = {
  columns: "keep_until, retry_limit, expire_seconds, deletion_seconds, heartbeat_seconds",
  values: "'infinity', 1000, 86400, 0, 25",
};

/** Makes the queue of a handler, if it is not there. One with a key keeps the order of its jobs. */
export async function addQueue(boss: PgBoss, name: string): Promise<void> {
  await boss.createQueue(name, name.endsWith("/key") ? { policy: "key_strict_fifo" } : {});
}

/** pg-boss on our connections. It is not started: nothing of it runs by itself. */
export function createBoss(schema: string, db: Db): PgBoss {
  const boss = new PgBoss({ db, schema, schedule: false, supervise: false });
  // Errors are thrown as well. An `error` event that nobody listens to would end the process.
  return boss.on("error", () => undefined);
}

export function executor(run: Query): Db {
  return { executeSql: async (text, values) => ({ rows: await run(text, values) }) };
}

/** Makes the tables, if they are not there. Who finds them needs no right to create anything. */
export async function createSchema({ schema, run, transaction }: Database): Promise<void> {
  const find = async (query: Query) => {
    const [found] = await query<{ hasBookmarks: boolean; version: number; encoding: string }>(FIND, [
      `${schema}.bookmarks`,
    ]);
    if (!found) throw new Error("PostgreSQL returned nothing.");
    if (found.version < OLDEST_VERSION)
      throw new Error(
        `PostgreSQL ${String(Math.floor(found.version / 10_000))} is too old. Use 13 or newer.`,
      );
    if (found.encoding !== "UTF8")
      throw new Error(`The encoding of the database is ${found.encoding}. Make one with ENCODING 'UTF8'.`);
    return found.hasBookmarks;
  };
  if (!(await find(run)))
    await transaction(async (query, client) => {
      await client.query("SET LOCAL lock_timeout = '120s'; SET LOCAL statement_timeout = 0");
      await query(LOCK, [schema]);
      if (await find(query)) return;
      // It commits by itself, on another connection.
      const boss = createBoss(schema, executor(run));
      await boss.start();
      await boss.stop({ graceful: false, close: false });
      await query(CREATE);
    });
  const [version] = await run<{ value: string }>(FIND_VERSION);
  if (version?.value !== VERSION)
    throw new Error(
      `The schema ${schema} is not of this version. Set DATABASE_SCHEMA to another name, such as ${schema}_2, or drop it.`,
    );
}
