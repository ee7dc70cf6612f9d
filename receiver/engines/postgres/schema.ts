import type { HandlerMigrations } from "../../engine.ts";
import { withClient, type Pool } from "./connection.ts";
import type { Packages } from "./packages.ts";

/** Our tables, beside those of handlers, which are where the role's search_path points. */
const SCHEMA = "receiver";
/** graphile-worker's tables: our own set, so that an application may have another in the same database. */
export const JOBS_SCHEMA = "receiver_jobs";

/** Any number will do, as long as every version of the receiver has the same. */
const MIGRATION_LOCK = 7_309_454_121;
const MIGRATION_LOCK_TIMEOUT = "120s";

/** Only ever appended to. Each list of statements runs once. */
const MIGRATIONS = [
  `
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
  CREATE TABLE receiver.objects (
    key uuid PRIMARY KEY,
    seq bigint NOT NULL,
    reconciled boolean NOT NULL
  );

  CREATE TABLE receiver.events (
    seq bigint PRIMARY KEY,
    id uuid NOT NULL,
    spelling text,                            -- of the id, where it isn't lower case
    type text NOT NULL,
    object uuid,
    reconciled boolean NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    duplicates integer NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'claimed', 'done', 'ignored', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    token integer NOT NULL DEFAULT 0,         -- fencing: only who holds the latest may write
    worker text,
    crashes integer NOT NULL DEFAULT 0,       -- how often its worker vanished
    due_at timestamptz,                       -- of a retry; new events have none
    handled integer NOT NULL DEFAULT 0,
    finished_at timestamptz,
    last_error text,
    body bytea NOT NULL
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
  ALTER TABLE receiver.events ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE INDEX events_new ON receiver.events (seq) WHERE state = 'pending' AND due_at IS NULL;
  CREATE INDEX events_due ON receiver.events (due_at) WHERE state = 'pending' AND crashes = 0 AND due_at IS NOT NULL;
  CREATE INDEX events_suspect ON receiver.events (due_at) WHERE state = 'pending' AND crashes > 0 AND due_at IS NOT NULL;
  CREATE INDEX events_claimed ON receiver.events (worker) WHERE state = 'claimed';
  CREATE INDEX events_set_aside ON receiver.events (state, seq) WHERE state IN ('dead', 'ignored');

  -- Who is alive. A lease is the worker's, not the event's: one row to extend, however much it holds.
  CREATE TABLE receiver.workers (
    id text PRIMARY KEY,
    pool text,                                -- of graphile-worker, whose jobs are unlocked when it is gone
    lease_until timestamptz NOT NULL
  );

  CREATE TABLE receiver.bookmarks (name text PRIMARY KEY, value text NOT NULL);

  CREATE TABLE receiver.facts (
    pruned_before timestamptz,                -- everything received before may have been pruned
    probed_at timestamptz NOT NULL,
    timeline text NOT NULL                    -- of the server that made this inbox: another one after a promotion
  );
  INSERT INTO receiver.facts VALUES (NULL, now(), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8));
  `,
  // What reconcile found keeps its object for as long as its id.
  `CREATE INDEX objects_reconciled ON receiver.objects (seq) WHERE reconciled`,
];

const CREATE_BASICS = `
  CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.migrations (name text PRIMARY KEY, applied integer NOT NULL);`;
const FIND_APPLIED = `SELECT applied FROM ${SCHEMA}.migrations WHERE name = $1`;
const FIND_ALL_APPLIED = `SELECT name, applied FROM ${SCHEMA}.migrations`;
const SET_APPLIED = `INSERT INTO ${SCHEMA}.migrations VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET applied = excluded.applied`;

type Steps = { name: string; statements: readonly string[] };

/** The database was made by a newer receiver than this one. */
class DatabaseTooNew extends Error {
  override readonly name = "DatabaseTooNew";
}

/**
 * Brings all tables up to date: graphile-worker's, ours and the handlers'. Any number of processes may start at once:
 * one migrates, the others wait for it, and who finds everything in place takes no lock at all.
 */
export async function migrate(
  pool: Pool,
  { graphile }: Packages,
  handlers: HandlerMigrations,
): Promise<void> {
  const steps: Steps[] = [
    { name: "receiver", statements: MIGRATIONS },
    ...handlers.map(({ handler, migrations }) => ({
      name: `handler ${handler}`,
      statements: migrations.map((one) => (typeof one === "string" ? one : one.postgres)),
    })),
  ];
  if (await isCurrent(pool, steps)) return;
  await withClient(pool, async (client) => {
    await client.query("BEGIN");
    // Of the transaction, not of the session: a session may be somebody else's behind a pooler.
    await client.query(
      `SET LOCAL lock_timeout = '${MIGRATION_LOCK_TIMEOUT}'; SET LOCAL statement_timeout = 0`,
    );
    await client.query(`SET LOCAL idle_in_transaction_session_timeout = 0`);
    await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await graphile.runMigrations({ pgPool: pool, schema: JOBS_SCHEMA });
    await client.query(CREATE_BASICS);
    for (const { name, statements } of steps) {
      const { rows } = await client.query<{ applied: number }>(FIND_APPLIED, [name]);
      const applied = rows[0]?.applied ?? 0;
      if (name === "receiver" && applied > statements.length) {
        throw new DatabaseTooNew("The database was made by a newer receiver: update this one.");
      }
      for (const statement of statements.slice(applied)) await client.query(statement);
      if (applied < statements.length) await client.query(SET_APPLIED, [name, statements.length]);
    }
    await client.query("COMMIT");
  });
}

async function isCurrent(pool: Pool, steps: readonly Steps[]): Promise<boolean> {
  const exists = await pool.query<{ found: boolean }>(
    `SELECT to_regclass('${SCHEMA}.migrations') IS NOT NULL AS found`,
  );
  if (exists.rows[0]?.found !== true) return false;
  const { rows } = await pool.query<{ name: string; applied: number }>(FIND_ALL_APPLIED);
  const applied = new Map(rows.map((row) => [row.name, row.applied]));
  if ((applied.get("receiver") ?? 0) > MIGRATIONS.length) return false;
  return steps.every(({ name, statements }) => (applied.get(name) ?? 0) >= statements.length);
}
