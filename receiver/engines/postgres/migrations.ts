import type { JobHandler } from "../../engine.ts";
import { naming, searchPath, sqlState, withRetries, type Client } from "./connection.ts";
import { createBoss, isCurrent, type Boss, type Place } from "./boss.ts";

/** The column that says whether handlers have been offered an event. */
const OFFER = `offer text NOT NULL DEFAULT 'offered' CHECK (offer IN ('waiting', 'offered', 'unwanted'))`;

/** The key of a table of one row: where PostgreSQL publishes what changes, it refuses to change a row without a key. */
const ONE = `one boolean PRIMARY KEY DEFAULT true CHECK (one)`;

/** What handlers want, what they have stored, and who works. New in a database of the version before. */
const HANDLERS = `
  CREATE TABLE receiver.handlers (
    name text PRIMARY KEY,                    -- of the queue too
    types text[],                             -- null: all
    has_key boolean NOT NULL,
    current boolean NOT NULL,                 -- one of those that there are
    seen timestamptz NOT NULL DEFAULT now(),  -- when a worker that has it last said so, to the minute
    starts timestamptz[] NOT NULL DEFAULT '{}' -- the latest, of a handler with a rate limit
  );
  CREATE TABLE receiver.steps (
    handler text NOT NULL, seq bigint NOT NULL, name text NOT NULL, result text NOT NULL,
    PRIMARY KEY (seq, handler, name)
  );
  -- Who is alive. A lease is the worker's, not the job's: one row to extend, however much it holds.
  CREATE TABLE receiver.workers (
    id text PRIMARY KEY, lease_until timestamptz NOT NULL,
    held jsonb NOT NULL DEFAULT '[]'          -- claims that have not ended: handler, job, started_on
  );
  CREATE INDEX events_offer ON receiver.events (offer, seq) WHERE offer <> 'offered';
  CREATE INDEX events_dead ON receiver.events (seq) WHERE state = 'dead';
  -- Of pg-boss's own indexes, none finds these: what is claimed, dead or ignored.
  CREATE INDEX receiver_aside ON boss.job (state, id) WHERE state IN ('active', 'failed', 'cancelled');
  CREATE SCHEMA IF NOT EXISTS receiver_handlers`;

const CREATE = `
  CREATE SEQUENCE receiver.seqs;

  -- Every id ever accepted: what recognises a duplicate long after the event itself was pruned. Two ids may name one
  -- event: the one that reconcile gave it, and the one that the service sent later.
  CREATE TABLE receiver.ids (
    id uuid PRIMARY KEY,                      -- the 32 hexadecimal characters of the event id
    seq bigint NOT NULL,
    day integer NOT NULL,                     -- days of Unix time when it was received
    handled smallint NOT NULL DEFAULT 0,      -- set when the event is pruned
    alias boolean NOT NULL DEFAULT false
  );
  CREATE INDEX ids_by_day ON receiver.ids USING brin (day) WITH (pages_per_range = 32, autosummarize = on);
  CREATE INDEX ids_aliases ON receiver.ids (seq) WHERE alias;

  -- Which event an object was first seen in, by a hash of its type and object id: what reconcile asks.
  CREATE TABLE receiver.objects (key uuid PRIMARY KEY, seq bigint NOT NULL, reconciled boolean NOT NULL);
  CREATE INDEX objects_reconciled ON receiver.objects (seq) WHERE reconciled;

  -- What was received. Handling changes none of it: that is written to the jobs.
  CREATE TABLE receiver.events (
    seq bigint PRIMARY KEY,
    id uuid NOT NULL,
    spelling text,                            -- of the id, where it isn't lower case
    type text NOT NULL,
    object uuid,
    reconciled boolean NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    duplicates integer NOT NULL DEFAULT 0,
    ${OFFER},
    trace jsonb,
    body bytea NOT NULL,
    -- Of events that came before handlers had names: what was done with them until then.
    state text, attempts integer NOT NULL DEFAULT 0, due_at timestamptz, handled integer NOT NULL DEFAULT 0,
    finished_at timestamptz, last_error text
  );
  ALTER TABLE receiver.events ALTER COLUMN body SET STORAGE EXTERNAL;

  CREATE TABLE receiver.bookmarks (name text PRIMARY KEY, value text NOT NULL);
  CREATE TABLE receiver.facts (
    ${ONE},
    pruned_before timestamptz,                -- everything received before may have been pruned
    timeline text,                            -- of the server that made this inbox: another one after a promotion
    owners text[] NOT NULL DEFAULT '{}'       -- fingerprints of the signing secrets whose events are in here
  );
  INSERT INTO receiver.facts (timeline) VALUES (NULL);
  ${HANDLERS}`;

/**
 * From a database whose events were handled without pg-boss. Finished events keep what was done with them. The others
 * are offered to handlers once a worker announces some, with the attempts that they have had; what a worker of the
 * version before still holds only when its lease is over. What a move had stored before it was finished is forgotten: it
 * is still where it came from, and comes again.
 */
const FROM_GRAPHILE = `
  WITH held AS (
    DELETE FROM receiver.events USING receiver.workers WHERE workers.id = events.worker AND lease_until = 'infinity'
    RETURNING seq
  ), objects AS (DELETE FROM receiver.objects USING held WHERE objects.seq = held.seq)
  DELETE FROM receiver.ids USING held WHERE ids.seq = held.seq;
  DELETE FROM receiver.bookmarks WHERE name LIKE 'move %';
  ALTER TABLE receiver.events ADD COLUMN ${OFFER}, ADD COLUMN trace jsonb,
    ALTER COLUMN state DROP NOT NULL, ALTER COLUMN state DROP DEFAULT;
  ALTER TABLE receiver.facts ADD COLUMN ${ONE}, ADD COLUMN owners text[] NOT NULL DEFAULT '{}', DROP COLUMN probed_at,
    ALTER COLUMN timeline DROP NOT NULL;
  UPDATE receiver.events SET
    offer = CASE WHEN events.state = 'ignored' THEN 'unwanted' ELSE 'waiting' END,
    due_at = coalesce((SELECT lease_until FROM receiver.workers WHERE workers.id = events.worker), due_at),
    state = NULL
  WHERE state IN ('pending', 'claimed', 'ignored');
  ALTER TABLE receiver.events DROP COLUMN token, DROP COLUMN worker, DROP COLUMN crashes;
  DROP INDEX IF EXISTS receiver.events_new, receiver.events_due, receiver.events_suspect, receiver.events_claimed,
    receiver.events_set_aside;
  DROP TABLE receiver.workers;
  DROP SCHEMA IF EXISTS receiver_jobs CASCADE;
  UPDATE receiver.migrations SET name = 'type ' || substr(name, 9) WHERE name LIKE 'handler %';
  ${HANDLERS}`;

/**
 * Until here a job that waited for its key was blocked, by whoever stored its event; now its priority says whether it has
 * one. The column has another name so that processes of the version before are refused: what they store would wait for ever.
 */
const FROM_BLOCKED = `
  ALTER TABLE receiver.handlers RENAME COLUMN keyed TO has_key;
  CREATE INDEX events_dead ON receiver.events (seq) WHERE state = 'dead';
  DROP INDEX boss.receiver_keyless;
  UPDATE boss.job SET blocked = false WHERE blocked`;

/** By the version that they start from; `to` is the version that they lead to. */
const UPGRADES = new Map([
  [0, { to: 6, sql: CREATE }],
  [1, { to: 2, sql: `CREATE INDEX objects_reconciled ON receiver.objects (seq) WHERE reconciled` }],
  [2, { to: 6, sql: FROM_GRAPHILE }],
  [3, { to: 4, sql: FROM_BLOCKED }],
  [4, { to: 5, sql: `ALTER TABLE receiver.handlers ADD COLUMN seen timestamptz NOT NULL DEFAULT now()` }],
  [5, { to: 6, sql: `ALTER TABLE receiver.facts ADD COLUMN ${ONE}` }],
]);
const VERSION = 6;

const SET_TIMELINE = `UPDATE receiver.facts SET timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`;
const NAMES = "migrations seqs ids objects events bookmarks facts handlers steps workers".split(" ");
const FIND_TABLES = `
  SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relname = ANY ($2)`;
const CREATE_MIGRATIONS = `
  CREATE SCHEMA IF NOT EXISTS receiver;
  CREATE TABLE receiver.migrations (name text PRIMARY KEY, applied integer NOT NULL);
  INSERT INTO receiver.migrations VALUES ('receiver', 0)`;
/** A row and no advisory lock, which a distributed database may not know. Who comes second waits for the first. */
const LOCK = `SELECT FROM receiver.migrations WHERE name = 'receiver' FOR UPDATE`;
const FIND_APPLIED = `SELECT name, applied FROM receiver.migrations`;
const SET_APPLIED = `
  INSERT INTO receiver.migrations VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET applied = excluded.applied`;
const FORGET_APPLIED = `DELETE FROM receiver.migrations WHERE name = $1`;

/** The errors of a query when our table, or a column of it, is not there. */
const UNDEFINED = new Set(["42P01", "42703"]);

/** Settings of the transaction, not of the session, which a pooler may give to another program. */
const BEGIN = `
  BEGIN; SET LOCAL lock_timeout = '120s'; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`;

const anothersTables = (schema: string, tables: readonly string[]): Error =>
  new Error(
    `In schema ${schema} of this database are another program's tables (${tables.join(", ")}). Set DATABASE_SCHEMA to a name that nobody uses there, such as voice_agent.`,
  );

type Queries = Pick<Client, "query">;

/**
 * Brings pg-boss's tables and ours up to date. Any number of processes may start at once: one migrates, the others wait
 * for it, and who finds everything in place takes no lock and needs no right to create anything.
 */
export async function migrate(place: Place, boss: Boss): Promise<void> {
  const { pool, schema, backend } = place;
  const named = naming(schema);
  const there = await versionOf(pool, schema);
  if (there === VERSION && (await isCurrent(boss))) return;
  if (there === undefined)
    await pool.query(named(CREATE_MIGRATIONS)).catch(async (error: unknown) => {
      // Where several processes create the same at one time, all but one fail.
      if ((await versionOf(pool, schema)) === undefined) throw error;
    });
  await locked(place, async (client) => {
    const version = (await versionOf(client, schema)) ?? 0;
    // pg-boss makes or upgrades its tables when it is started. All else that is asked of it works without.
    const installing = await createBoss(place).start();
    await installing.stop({ graceful: false });
    // pg-boss takes tables that are there already for its own.
    if (!(await isCurrent(boss))) throw anothersTables(`${schema}_boss`, ["job"]);
    for (let step = UPGRADES.get(version); step; step = UPGRADES.get(step.to)) {
      await client.query(named(step.sql));
    }
    if (version === 0 && backend === "postgres") await client.query(named(SET_TIMELINE));
    await client.query(named(SET_APPLIED), ["receiver", VERSION]);
  });
}

/** The version of our tables; undefined where there are none. Throws where they are a newer receiver's, or another program's. */
async function versionOf(database: Queries, schema: string): Promise<number | undefined> {
  const { rows } = await database.query<{ name: string }>(FIND_TABLES, [schema, NAMES]);
  const found = rows.map(({ name }) => name);
  if (found.length === 0) return undefined;
  const applied = await appliedOf(database, naming(schema)).catch((error: unknown) => {
    if (UNDEFINED.has(sqlState(error) ?? "")) return undefined;
    throw error;
  });
  const version = applied?.get("receiver");
  if (version === undefined) throw anothersTables(schema, found);
  if (version > VERSION) throw new Error("The database was made by a newer receiver: update this one.");
  return version;
}

/**
 * Runs what handlers have in migrations beyond those that ran. Before handlers had names, it was remembered by the type
 * of their events: the first handler of one type that has as many goes on from there.
 */
export async function migrateHandlers(place: Place, handlers: readonly JobHandler[]): Promise<void> {
  const named = naming(place.schema);
  const wanting = handlers.filter(({ migrations }) => migrations.length > 0);
  const before = await appliedOf(place.pool, named);
  if (wanting.every(({ name, migrations }) => (before.get(`handler ${name}`) ?? 0) >= migrations.length))
    return;
  await locked(place, async (client) => {
    await client.query(`SET LOCAL search_path = ${searchPath(place.schema)}`);
    for (const { name, types, migrations } of wanting) {
      const applied = await appliedOf(client, named);
      const [own, former] = [`handler ${name}`, `type ${String(types)}`];
      const inherited = applied.has(own) ? 0 : (applied.get(former) ?? 0);
      const isHeir = inherited > 0 && inherited <= migrations.length;
      const done = applied.get(own) ?? (isHeir ? inherited : 0);
      for (const one of migrations.slice(done)) {
        await client.query(typeof one === "string" ? one : one.postgres);
      }
      if (isHeir) await client.query(named(FORGET_APPLIED), [former]);
      await client.query(named(SET_APPLIED), [own, Math.max(done, migrations.length)]);
    }
  });
}

async function appliedOf(database: Queries, named: (text: string) => string): Promise<Map<string, number>> {
  const { rows } = await database.query<{ name: string; applied: number }>(named(FIND_APPLIED));
  return new Map(rows.map(({ name, applied }) => [name, applied]));
}

/** A transaction that no other migration runs beside. What works on the tables meanwhile may wait for it, and it for that. */
async function locked({ pool, schema }: Place, work: (client: Client) => Promise<void>): Promise<void> {
  await withRetries(pool, async (client) => {
    await client.query(BEGIN);
    await client.query(naming(schema)(LOCK));
    await work(client);
    await client.query("COMMIT");
  });
}
