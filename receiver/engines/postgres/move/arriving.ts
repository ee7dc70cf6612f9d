import type { BackendProfile } from "pg-boss";
import type { InboxJob } from "../../../engine.ts";
import type { MovedAlias, MovedEvent, MovedJob } from "./leaving.ts";
import { addQueues, createBoss, RETRY, SUSPECT } from "../boss.ts";
import { createDatabase, createPool, preparing } from "../connection.ts";
import { createLedger, EVENT } from "../ledger.ts";
import { jobId, objectKey, storable, uuidOf } from "../text.ts";

const at = (milliseconds: string): string => `to_timestamp(${milliseconds} / 1000.0)`;

/**
 * Events with their jobs and steps, in one statement. Of those that are there already, what was requeued where they come
 * from is brought `again`, once, unless somebody has requeued it here.
 */
const ARRIVE = `
  WITH given AS MATERIALIZED (
    SELECT g.*, nextval('receiver.seqs') AS seq FROM json_to_recordset($1) AS g(
      n integer, id uuid, type text, object uuid, reconciled boolean, "receivedAtMs" double precision, trace jsonb,
      duplicates integer, handled integer, body text, jobs json, offer text, state text, attempts integer, requeued boolean,
      "dueAtMs" double precision, "finishedAtMs" double precision, "lastError" text) ORDER BY n
  ), given_jobs AS MATERIALIZED (
    SELECT n, job.* FROM given, json_to_recordset(jobs) AS job(handler text, state text, priority integer, attempts integer,
      "dueAtMs" double precision, "finishedAtMs" double precision, data jsonb, output jsonb, steps json)
  ), ids AS (
    INSERT INTO receiver.ids (id, seq, day, handled)
    SELECT id, seq, floor("receivedAtMs" / 86400000), CASE WHEN body IS NULL THEN handled ELSE 0 END
    FROM given ORDER BY id
    ON CONFLICT (id) DO NOTHING
    RETURNING id, seq
  ), objects AS (
    INSERT INTO receiver.objects (key, seq, reconciled)
    SELECT DISTINCT ON (object) object, seq, reconciled FROM given JOIN ids USING (id, seq)
    WHERE object IS NOT NULL ORDER BY object, n
    ON CONFLICT (key) DO NOTHING
  ), events AS (
    INSERT INTO receiver.events (seq, id, type, object, reconciled, received_at, duplicates, trace, body,
      offer, state, attempts, due_at, handled, finished_at, last_error)
    SELECT seq, id, type, object, reconciled, ${at(`"receivedAtMs"`)}, duplicates, trace, decode(body, 'base64'),
      offer, state, attempts, ${at(`"dueAtMs"`)}, handled, ${at(`"finishedAtMs"`)}, "lastError"
    FROM given JOIN ids USING (id, seq) WHERE body IS NOT NULL
    ORDER BY seq
    RETURNING seq, received_at
  ), again AS (
    SELECT n, events.seq, events.received_at, given.offer
    FROM given JOIN receiver.ids ON ids.id = given.id JOIN receiver.events ON events.seq = ids.seq WHERE requeued
  ), offers AS (
    UPDATE receiver.events SET offer = again.offer, state = NULL, attempts = 0, due_at = NULL, last_error = NULL
    FROM again WHERE events.seq = again.seq AND (events.offer = 'unwanted' OR events.state = 'dead') AND again.offer <> 'unwanted'
    RETURNING events.seq
  ), arrived AS (
    SELECT n, seq, received_at FROM given JOIN events USING (seq) UNION ALL SELECT n, seq, received_at FROM again
  ), jobs AS (
    INSERT INTO boss.job (id, name, state, priority, retry_count, started_on, start_after, created_on, completed_on, data, output,
      retry_limit, expire_seconds, deletion_seconds, keep_until)
    SELECT ${jobId("arrived.seq")}, job.handler, job.state::boss.job_state, job.priority, greatest(attempts - 1, 0),
      CASE WHEN attempts > 0 THEN received_at END, coalesce(${at(`"dueAtMs"`)}, now()), received_at, ${at(`"finishedAtMs"`)},
      job.data, job.output, 2147483647, 2147483647, 0, 'infinity'
    FROM arrived JOIN given_jobs AS job USING (n)
    ON CONFLICT (name, id) DO UPDATE SET state = excluded.state, priority = excluded.priority, retry_count = excluded.retry_count,
      started_on = excluded.started_on, start_after = excluded.start_after, completed_on = excluded.completed_on,
      data = excluded.data, output = excluded.output
    WHERE job.state IN ('failed', 'cancelled')
      AND coalesce((job.data->>'requeuedAtMs')::bigint, 0) < (excluded.data->>'requeuedAtMs')::bigint
    RETURNING id
  ), steps AS (
    INSERT INTO receiver.steps (handler, seq, name, result)
    SELECT handler, seq, step.name, result FROM arrived JOIN given_jobs USING (n),
      json_to_recordset(steps) AS step(name text, result text)
    ON CONFLICT DO NOTHING
  )
  SELECT n, true AS fresh FROM given JOIN ids USING (id, seq)
  UNION SELECT n, false FROM again WHERE seq IN (SELECT seq FROM offers) OR ${jobId("seq")} IN (SELECT id FROM jobs)`;

/** Aliases, bookmarks and the time of pruning. A bookmark that this inbox has already stays. */
const ARRIVE_REST = `
  WITH aliases AS (
    INSERT INTO receiver.ids (id, seq, day, alias, handled)
    SELECT given.id, ids.seq, floor("receivedAtMs" / 86400000), true, ids.handled
    FROM json_to_recordset($1) AS given(id uuid, of uuid, "receivedAtMs" double precision) JOIN receiver.ids ON ids.id = given.of
    ORDER BY given.id
    ON CONFLICT (id) DO NOTHING
  ), bookmarks AS (
    INSERT INTO receiver.bookmarks SELECT * FROM json_to_recordset($2) AS given(name text, value text) ON CONFLICT DO NOTHING)
  UPDATE receiver.facts SET pruned_before = greatest(pruned_before, to_timestamp(nullif($3::double precision, 0) / 1000.0))`;

/** Gone until a worker announces them. */
const KNOW_HANDLERS = `
  INSERT INTO receiver.handlers (name, types, has_key, current) SELECT name, '{}', false, false FROM unnest($1::text[]) AS name
  ON CONFLICT (name) DO NOTHING`;
/** An id without an event's row was pruned. */
const READ_BACK = `
  SELECT 'evt_' || replace(ids.id::text, '-', '') AS id, found."receivedAtMs", coalesce(found.jobs, '[]') AS jobs,
    encode(sha256(events.body), 'hex') AS hash
  FROM receiver.ids LEFT JOIN receiver.events USING (seq) LEFT JOIN (${EVENT}) AS found ON found.seq = events.seq
  WHERE ids.id = ANY ($1::uuid[])`;

/** An event as it arrived: what is compared with the original. */
export type Arrived = {
  jobs: InboxJob[];
  receivedAtMs: number | null;
  /** SHA-256 of its body; null once it is pruned. */
  hash: string | null;
};

/** Where an inbox is moved to. */
export type Target = { url: string; schema?: string | undefined; backend?: BackendProfile | undefined };

export type ArrivingInbox = Awaited<ReturnType<typeof openArriving>>;

/** The side of PostgreSQL, whose tables are there. How far a move has come is the bookmark `markName`. */
export async function openArriving(options: Target & { markName: string }) {
  const { url, schema = "receiver", backend = "postgres", markName } = options;
  const how = { purpose: "move", connections: 2, connectTimeoutMs: 5_000 };
  const pool = createPool({ url, schema, ...how });
  const database = createDatabase(pool, await preparing(pool, schema));
  const { run } = database;
  const boss = createBoss({ pool, schema, backend });
  const { bookmark, setBookmark } = createLedger(database, boss, null);

  return {
    /** Stores what isn't there yet. Answers the places of that, and with them of what has changed. */
    arrive: async (
      batch: readonly MovedEvent[],
    ): Promise<{ fresh: ReadonlySet<number>; changed: ReadonlySet<number> }> => {
      const names = new Set(batch.flatMap(({ jobs }) => jobs.flatMap(({ handler }) => handler ?? [])));
      await addQueues(boss, names);
      await run(KNOW_HANDLERS, [[...names]]);
      const changed = await run<{ n: number; fresh: boolean }>(ARRIVE, [JSON.stringify(batch.map(rowOf))]);
      return {
        fresh: new Set(changed.filter(({ fresh }) => fresh).map(({ n }) => n)),
        changed: new Set(changed.map(({ n }) => n)),
      };
    },
    arriveRest: async (
      aliases: readonly MovedAlias[],
      bookmarks: readonly { name: string; value: string }[],
      prunedBeforeMs: number,
    ): Promise<void> => {
      const rows = aliases.map((one) => ({ ...one, id: uuidOf(one.id), of: uuidOf(one.of) }));
      await run(ARRIVE_REST, [JSON.stringify(rows), JSON.stringify(bookmarks), prunedBeforeMs]);
    },
    readBack: async (ids: readonly string[]): Promise<Map<string, Arrived>> => {
      const rows = await run<Arrived & { id: string }>(READ_BACK, [ids.map(uuidOf)]);
      return new Map(rows.map((row) => [row.id, row]));
    },
    /** How far the move has come, by the seq of the inbox that is left. */
    mark: async (): Promise<number> => Number((await bookmark(markName)) ?? 0),
    setMark: async (seq: number): Promise<void> => setBookmark(markName, String(seq)),
    close: async (): Promise<void> => pool.end(),
  };
}

/** The row of an event; what stands for no handler by name is the event's own. */
function rowOf(event: MovedEvent, n: number): Record<string, unknown> {
  const { id, type, objectId, source, trace, body, jobs, ...known } = event;
  const whole = jobs.find(({ handler }) => handler === null);
  const isOver = whole?.state === "done" || whole?.state === "dead";
  const isWaiting = jobs.length === 0 || (whole && !isOver && whole.state !== "ignored");
  const offer = whole?.state === "ignored" ? "unwanted" : "offered";
  return {
    ...known,
    n,
    id: uuidOf(id),
    type: storable(type),
    object: objectId === null ? null : objectKey(type, objectId),
    reconciled: source === "reconcile",
    trace: trace === null ? null : (JSON.parse(trace) as unknown),
    body: body === null ? null : body.toString("base64"),
    jobs: jobs.flatMap(jobRows),
    offer: isWaiting ? "waiting" : offer,
    state: isOver ? whole.state : null,
    attempts: whole?.attempts ?? 0,
    requeued: jobs.some(({ requeuedAtMs }) => requeuedAtMs !== null),
    dueAtMs: whole?.dueAtMs ?? null,
    finishedAtMs: whole?.finishedAtMs ?? null,
    lastError: whole?.lastError == null ? null : storable(whole.lastError),
  };
}

const FINISHED: Record<string, string> = { done: "completed", dead: "failed", ignored: "cancelled" };

/** The row of a job that has a handler's name. One that was claimed has lost its worker. */
function jobRows({ handler, state, lastError, deferred, requeuedAtMs, ...job }: MovedJob): object[] {
  if (handler === null) return [];
  const isFresh = !(state in FINISHED) && state !== "claimed" && job.attempts === 0 && deferred === 0;
  const waits = state === "suspect" || state === "claimed" ? SUSPECT : RETRY;
  return [
    {
      ...job,
      handler,
      state: isFresh ? "created" : (FINISHED[state] ?? "retry"),
      priority: isFresh ? 0 : waits,
      dueAtMs: state === "claimed" ? 0 : job.dueAtMs,
      data: requeuedAtMs === null ? null : { requeuedAtMs },
      output: lastError === null ? null : { error: storable(lastError), ...(deferred ? { deferred } : {}) },
    },
  ];
}
