import { administer } from "../../helpers/postgres/shared.ts";
import { idOf } from "../helpers/events.ts";

/**
 * Makes of a database one as the receiver made it before pg-boss owned the jobs, whose events and handlers' tables are
 * those of `statements`: one row an event, which says how far its only handler has come.
 */
export async function makeVersion2(url: string, statements: string): Promise<void> {
  await administer(
    url,
    `DROP SCHEMA IF EXISTS receiver, receiver_boss, receiver_handlers CASCADE;
     ${VERSION_2} ${statements}`,
  );
}

/** Has it store an event, which waits to be handled. */
export const storing = (body: Buffer, seq: number): string => `
  INSERT INTO receiver.ids VALUES ('${idOf(body).slice(4)}', ${String(seq)}, extract(epoch FROM now()) / 86400);
  INSERT INTO receiver.events (seq, id, type, reconciled, body)
    VALUES (${String(seq)}, '${idOf(body).slice(4)}', 'call.completed', false, '\\x${body.toString("hex")}');`;

const VERSION_2 = `
  CREATE SCHEMA receiver_jobs;
  CREATE TABLE receiver_jobs._private_jobs (id bigint, locked_by text);
  CREATE SCHEMA receiver;
  CREATE TABLE receiver.migrations (name text PRIMARY KEY, applied integer NOT NULL);
  INSERT INTO receiver.migrations VALUES ('receiver', 2);
  CREATE SEQUENCE receiver.seqs START 100;
  CREATE TABLE receiver.ids (
    id uuid PRIMARY KEY,
    seq bigint NOT NULL,
    day integer NOT NULL,
    handled smallint NOT NULL DEFAULT 0,
    alias boolean NOT NULL DEFAULT false
  );
  CREATE INDEX ids_by_day ON receiver.ids USING brin (day) WITH (pages_per_range = 32, autosummarize = on);
  CREATE INDEX ids_aliases ON receiver.ids (seq) WHERE alias;
  CREATE TABLE receiver.objects (key uuid PRIMARY KEY, seq bigint NOT NULL, reconciled boolean NOT NULL);
  CREATE TABLE receiver.events (
    seq bigint PRIMARY KEY,
    id uuid NOT NULL,
    spelling text,
    type text NOT NULL,
    object uuid,
    reconciled boolean NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    duplicates integer NOT NULL DEFAULT 0,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'claimed', 'done', 'ignored', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    token integer NOT NULL DEFAULT 0,
    worker text,
    crashes integer NOT NULL DEFAULT 0,
    due_at timestamptz,
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
  CREATE TABLE receiver.workers (id text PRIMARY KEY, pool text, lease_until timestamptz NOT NULL);
  CREATE TABLE receiver.bookmarks (name text PRIMARY KEY, value text NOT NULL);
  CREATE TABLE receiver.facts (pruned_before timestamptz, probed_at timestamptz NOT NULL, timeline text NOT NULL);
  INSERT INTO receiver.facts VALUES (NULL, now(), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8));
  CREATE INDEX objects_reconciled ON receiver.objects (seq) WHERE reconciled;`;
