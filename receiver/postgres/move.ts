import { existsSync } from "node:fs";
import { z } from "zod";
import { systemClock as clock } from "../clock.ts";
import { loadConfig } from "../config.ts";
import { EXIT, Refused, terminal, type Context, type Outcome } from "../operations/commands/run.ts";
import { openDatabase, type DatabaseFile } from "../store/database.ts";
import { jobErrorsSchema } from "../store/job-rules.ts";
import { JOB_STATES } from "../store/ledger-port.ts";
import { createDatabase, storable, type Query } from "./connection.ts";
import { keyed } from "./handlers.ts";
import { addQueue, createBoss, createSchema, executor, JOB_POLICY, SET_BOOKMARK } from "./schema.ts";

/** Events in one transaction. */
const BATCH = 200;
const MOVED_UP_TO = "moved up to";

const LIST = `SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ${String(BATCH)}`;
const LIST_JOBS = `
  SELECT jobs.*, name, handlers.key AS paths FROM jobs JOIN handlers ON number = handler WHERE event = ? AND number > 0`;
const LIST_STEPS = `
  SELECT handlers.name AS handler, steps.name, result FROM steps JOIN handlers ON number = handler WHERE event = ?`;
const IS_UNWANTED = `SELECT 1 FROM jobs WHERE event = ? AND handler = 0`;

const COUNT = `SELECT count(*) AS events, (SELECT value FROM receiver.bookmarks WHERE name = '${MOVED_UP_TO}') AS last FROM receiver.events`;
const ADD_EVENTS = `
  INSERT INTO receiver.events (seq, id, alias, type, object_id, source, received_at, duplicates, unwanted, handled, body)
  SELECT seq, id, alias, type, object, source, to_timestamp(at::double precision / 1000), duplicates, unwanted, handled, decode(body, 'base64')
  FROM json_to_recordset($1) AS e(seq bigint, id uuid, alias uuid, type text, object text, source text, at bigint, duplicates integer,
    unwanted boolean, handled integer, body text)`;
const ADD_JOBS = `
  INSERT INTO receiver.job (id, name, state, policy, singleton_key, retry_count, start_after, started_on, completed_on, created_on,
    output, data, ${JOB_POLICY.columns})
  SELECT id, name, state::receiver.job_state, CASE WHEN key IS NOT NULL AND state = 'created' THEN 'key_strict_fifo' END, key, attempts,
    to_timestamp(0) + due * interval '1 ms', NULL, to_timestamp(0) + finished * interval '1 ms',
    to_timestamp(0) + at * interval '1 ms' + seq % 1000 * interval '1 microsecond', output, jsonb_build_object('since', since),
    ${JOB_POLICY.values}
  FROM json_to_recordset($1) AS j(id uuid, seq bigint, name text, state text, key text, attempts integer, due bigint, finished bigint,
    at bigint, output jsonb, since bigint)`;
const ADD_STEPS = `
  INSERT INTO receiver.steps SELECT id, handler, name, result
  FROM json_to_recordset($1) AS s(id uuid, handler text, name text, result text)`;
const SET_SEQ = `SELECT setval('receiver.seqs', greatest(1, (SELECT max(seq) FROM receiver.events)))`;

const hex = z.instanceof(Buffer).transform((bytes) => bytes.toString("hex"));
const eventSchema = z.object({
  seq: z.number(),
  id: hex,
  alias: hex.nullable(),
  type: z.string().nullable(),
  object_id: z.string().nullable(),
  source: z.string().nullable(),
  received_at_ms: z.number(),
  duplicates: z.number(),
  handled: z.number().nullable(),
  body: z.instanceof(Buffer).nullable(),
});
const jobSchema = z.object({
  name: z.string(),
  paths: z.string(),
  key: z.string().nullable(),
  state: z.enum(JOB_STATES),
  due_at_ms: z.number(),
  attempts: z.number(),
  deferred: z.number(),
  waiting_since_ms: z.number(),
  finished_at_ms: z.number().nullable(),
  errors: z.string().nullable(),
  cause: z.string().nullable(),
});
const stepSchema = z.object({ handler: z.string(), name: z.string(), result: z.string() });
const STATES = {
  waiting: "created",
  running: "created",
  done: "completed",
  dead: "failed",
  ignored: "cancelled",
};

type Moved = { events: number; jobs: number; steps: number };

/** `move`: copies the SQLite inbox of a stopped receiver to an empty database; goes on where an earlier move ended. */
export async function move({ config }: Context, { to }: { to: string }): Promise<Outcome> {
  const target = loadConfig({ DATABASE_URL: to }, { needsSecret: false });
  const url = target.ok ? target.config.databaseUrl : undefined;
  if (url === undefined) throw new Refused("--to takes an address such as postgres://host/database.");
  const file = config.databaseFile;
  if (file === undefined)
    throw new Refused("the inbox is in PostgreSQL already: name the SQLite file in DATABASE_URL.");
  if (!existsSync(file)) throw new Refused(`there is no inbox at ${file}.`, EXIT.couldNotRun);
  const database = createDatabase({ url, schema: config.databaseSchema });
  await createSchema(database);
  const from = await openDatabase({ file, clock, checkpoints: false, onFatal: terminal.complain });
  try {
    const moved = await copy(from, database);
    const { events, jobs, steps } = moved;
    const line = `${String(events)} events, ${String(jobs)} jobs and ${String(steps)} steps were copied.`;
    const notes = ["Set DATABASE_URL to the new database and start. Handlers' own tables stay in the file."];
    return { json: moved, lines: [line], notes };
  } finally {
    await from.close();
    await database.close();
  }
}

async function copy({ db }: DatabaseFile, database: ReturnType<typeof createDatabase>): Promise<Moved> {
  const [found] = await database.run<{ events: number; last: string | null }>(COUNT);
  if (found && found.events > 0 && found.last === null)
    throw new Refused(
      "the database named by --to has events already. Name an empty one, or another DATABASE_SCHEMA.",
    );
  const boss = createBoss(database.schema, executor(database.run));
  const queues = new Set<string>();
  const moved: Moved = { events: 0, jobs: 0, steps: 0 };
  for (let last = Number(found?.last ?? 0); ;) {
    const events = z.array(eventSchema).parse(db.prepare(LIST).all(last));
    const [end] = events.slice(-1);
    if (!end) break;
    last = end.seq;
    const jobs = events.flatMap((event) =>
      z
        .array(jobSchema)
        .parse(db.prepare(LIST_JOBS).all(event.seq))
        .map((job) => jobRow(event, job)),
    );
    const steps = events.flatMap(({ seq, id }) =>
      z
        .array(stepSchema)
        .parse(db.prepare(LIST_STEPS).all(seq))
        .map((step) => ({ id, ...step, name: storable(step.name) })),
    );
    for (const { name } of jobs)
      if (!queues.has(name)) {
        await addQueue(boss, name);
        queues.add(name);
      }
    await database.transaction(async (query: Query) => {
      await query(ADD_EVENTS, [
        JSON.stringify(
          events.map((event) =>
            eventRow(
              event,
              jobs.some(({ id }) => id === event.id),
              db.prepare(IS_UNWANTED).get(event.seq) !== undefined,
            ),
          ),
        ),
      ]);
      await query(ADD_JOBS, [JSON.stringify(jobs)]);
      await query(ADD_STEPS, [JSON.stringify(steps)]);
      await query(SET_SEQ);
      await query(SET_BOOKMARK, [MOVED_UP_TO, String(last)]);
    });
    moved.events += events.length;
    moved.jobs += jobs.length;
    moved.steps += steps.length;
    terminal.progress(`${String(moved.events)} events copied`);
  }
  terminal.progress("");
  return moved;
}

function eventRow(
  { object_id: object, received_at_ms: at, body, type, ...event }: z.infer<typeof eventSchema>,
  hasJobs: boolean,
  isUnwanted: boolean,
) {
  return {
    ...event,
    at,
    type: type === null ? null : storable(type),
    object: object === null ? null : storable(object),
    unwanted: hasJobs || body === null ? false : isUnwanted ? true : null,
    body: body?.toString("base64") ?? null,
  };
}

function jobRow(
  { id, seq, received_at_ms: at }: z.infer<typeof eventSchema>,
  job: z.infer<typeof jobSchema>,
) {
  const { name, state, attempts, due_at_ms: due, cause, errors, deferred } = job;
  const isKeyed = job.paths !== "[]";
  return {
    id,
    seq,
    at,
    attempts,
    ...keyed(id, name, isKeyed, job.key),
    state: STATES[state],
    // One that waits behind its key has the largest number there is.
    due: due === Number.MAX_SAFE_INTEGER ? at : due,
    finished: job.finished_at_ms,
    since: job.waiting_since_ms,
    output: {
      errors: jobErrorsSchema
        .parse(JSON.parse(errors ?? "[]"))
        .map((one) => ({ ...one, error: storable(one.error) })),
      deferred: deferred === 1,
      ...(cause !== null && { cause: storable(cause) }),
    },
  };
}
