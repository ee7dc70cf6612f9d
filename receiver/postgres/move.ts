import { existsSync } from "node:fs";
import { systemClock as clock } from "../clock.ts";
import { loadConfig } from "../config.ts";
import { EXIT, Refused, terminal, type Context, type Outcome } from "../operations/commands/run.ts";
import { openDatabase, type DatabaseFile } from "../store/database.ts";
import { createDatabase, described, json, type Database } from "./connection.ts";
import { KEY } from "./handlers.ts";
import { addQueue, createBoss, createSchema, JOB_POLICY, UNWANTED } from "./schema.ts";

/** Events per statement. */
const BATCH = 50;
const MOVED_UP_TO = "moved up to";

const QUEUE = `name || iif(handlers.key = '[]', '', '/key')`;
const LIST_QUEUES = `SELECT ${QUEUE} FROM handlers WHERE number > 0`;
/** One batch of events: its last `seq`, and its rows as JSON. */
const LIST = `
  WITH batch AS MATERIALIZED (SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ${String(BATCH)})
  SELECT (SELECT max(seq) FROM batch) AS last, (
    SELECT json_group_array(json_object('seq', seq, 'id', hex(id), 'alias', nullif(hex(alias), ''), 'type', type, 'object', object_id,
      'source', source, 'at', received_at_ms, 'duplicates', duplicates, 'handled', handled, 'body', nullif(hex(body), ''))) FROM batch) AS events, (
    SELECT json_group_array(json_object('id', hex(id), 'seq', seq, 'at', received_at_ms, 'key', jobs.key, 'attempts', attempts,
      'name', CASE WHEN number > 0 THEN ${QUEUE} ELSE '${UNWANTED}' END, 'due', due_at_ms, 'finished', finished_at_ms, 'since', waiting_since_ms,
      'state', CASE state WHEN 'done' THEN 'completed' WHEN 'dead' THEN 'failed' WHEN 'ignored' THEN 'cancelled' ELSE 'created' END,
      'output', json_object('errors', errors, 'deferred', deferred, 'cause', cause)))
    FROM batch LEFT JOIN jobs ON event = seq LEFT JOIN handlers ON number = handler WHERE body IS NOT NULL) AS jobs, (
    SELECT json_group_array(json_object('id', hex(id), 'handler', handlers.name, 'name', steps.name, 'result', result))
    FROM batch JOIN steps ON event = seq JOIN handlers ON number = handler) AS steps`;

const COUNT = `SELECT count(*) AS events, (SELECT value FROM receiver.bookmarks WHERE name = '${MOVED_UP_TO}') AS last FROM receiver.events`;
/** Inserts a batch whole or not at all. In SQLite, a job that waits behind its key is due at the largest integer, one that runs at 0. */
const ADD = `
  WITH new_events AS (
    INSERT INTO receiver.events (seq, id, alias, type, object_id, source, received_at, duplicates, handled, body)
    SELECT seq, id, alias, type, object, source, to_timestamp(at::double precision / 1000), duplicates, handled, decode(body, 'hex')
    FROM json_to_recordset($1) AS e(seq bigint, id uuid, alias uuid, type text, object text, source text, at bigint, duplicates integer,
      handled integer, body text) RETURNING 1
  ), new_jobs AS (
    INSERT INTO receiver.job (id, name, state, policy, singleton_key, retry_count, start_after, completed_on, created_on,
      output, data, ${JOB_POLICY.columns})
    SELECT id, name, state::receiver.job_state, CASE WHEN name LIKE '%/key' AND state = 'created' THEN 'key_strict_fifo' END, ${KEY},
      coalesce(attempts, 0), to_timestamp(0) + CASE WHEN due > 0 AND due < ${String(Number.MAX_SAFE_INTEGER)} THEN due ELSE at END * interval '1 ms',
      to_timestamp(0) + finished * interval '1 ms', to_timestamp(0) + at * interval '1 ms' + seq % 1000 * interval '1 microsecond',
      output, jsonb_build_object('since', since), ${JOB_POLICY.values}
    FROM json_to_recordset($2) AS j(id uuid, seq bigint, name text, state text, key text, attempts integer, due bigint, finished bigint,
      at bigint, output jsonb, since bigint) RETURNING name
  ), new_steps AS (
    INSERT INTO receiver.steps SELECT id, handler, name, result
    FROM json_to_recordset($3) AS s(id uuid, handler text, name text, result text) RETURNING 1
  ), bookmark AS (
    INSERT INTO receiver.bookmarks VALUES ('${MOVED_UP_TO}', $4::text) ON CONFLICT (name) DO UPDATE SET value = excluded.value)
  SELECT (SELECT count(*) FROM new_events) AS events, (SELECT count(*) FROM new_jobs WHERE name <> '${UNWANTED}') AS jobs,
    (SELECT count(*) FROM new_steps) AS steps, setval('receiver.seqs', $4::text::bigint)`;

type Moved = { events: number; jobs: number; steps: number };
type Batch = { last: number | null } & Record<keyof Moved, string>;

/** `move`: copies the SQLite inbox of a stopped receiver to an empty database. Continues where an earlier move stopped. */
export async function move({ config }: Context, { to }: { to: string }): Promise<Outcome> {
  const target = loadConfig({ DATABASE_URL: to }, { needsSecret: false });
  const url = target.ok ? target.config.databaseUrl : undefined;
  if (url === undefined) throw new Refused("--to needs an address such as postgres://host/database.");
  const file = config.databaseFile;
  if (file === undefined)
    throw new Refused("the inbox is in PostgreSQL already: name the SQLite file in DATABASE_URL.");
  if (!existsSync(file)) throw new Refused(`there is no inbox at ${file}.`, EXIT.couldNotRun);
  const database = createDatabase(url, config.databaseSchema);
  let from: DatabaseFile | undefined;
  let [problem, fix] = ["cannot open the inbox", ""];
  try {
    from = await openDatabase({ file, clock, checkpoints: false, onFatal: terminal.complain });
    problem = "cannot use the database named by --to";
    await createSchema(database);
    [problem, fix] = ["the copy stopped", "\nWhen that is fixed, run the same command again: it continues."];
    const { events, jobs, steps } = await copy(from, database);
    const line = `${String(events)} events, ${String(jobs)} jobs and ${String(steps)} steps were copied.`;
    const notes = ["Set DATABASE_URL to the new database and start. Handlers' own tables were not copied."];
    return { json: { events, jobs, steps }, lines: [line], notes };
  } catch (error) {
    // Errors of `pg` and of sockets have these names. Others are bugs, errors of SQLite, or explained already.
    if (!(error instanceof Error && /^(?:Aggregate)?error$/i.test(error.name))) throw error;
    throw new Refused(`${problem}: ${described(error)}${fix}`, EXIT.couldNotRun);
  } finally {
    await from?.close();
    await database.close();
  }
}

async function copy({ db }: DatabaseFile, database: Database): Promise<Moved> {
  const [found] = await database.run<{ events: number; last: string | null }>(COUNT);
  if (found && found.events > 0 && found.last === null)
    throw new Refused(
      "the database named by --to has events already. Name an empty one, or another DATABASE_SCHEMA.",
    );
  const boss = createBoss(database);
  for (const queue of db.prepare<[], string>(LIST_QUEUES).pluck().all()) await addQueue(boss, queue);
  const next = db.prepare<[number], Batch>(LIST);
  const moved: Moved = { events: 0, jobs: 0, steps: 0 };
  for (let from = Number(found?.last ?? 0); ;) {
    const batch = next.get(from);
    if (!batch || batch.last === null) break;
    from = batch.last;
    const rows = [batch.events, batch.jobs, batch.steps].map((rows) => json(JSON.parse(rows)));
    const [added] = await database.run<Moved>(ADD, [...rows, String(from)]);
    for (const kind of ["events", "jobs", "steps"] as const) moved[kind] += added?.[kind] ?? 0;
    terminal.progress(`${String(moved.events)} events copied`);
  }
  terminal.progress("");
  return moved;
}
