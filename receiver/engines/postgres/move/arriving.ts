import type { InboxJob } from "../../../engine.ts";
import { isFinished, type MovedAlias, type MovedEvent } from "./moved-event.ts";
import { eventColumns, HELD, jobRows, rowOf } from "./arriving-rows.ts";
import { createBoss } from "../boss.ts";
import { createDatabase, createPool, preparing } from "../connection.ts";
import { createLedger, EVENT, type EventRow } from "../ledger.ts";
import { loadPackages } from "../packages.ts";
import { jobId, uuidOf } from "../text.ts";

const CONNECT_TIMEOUT_MS = 5_000;

const at = (milliseconds: string): string => `to_timestamp(${milliseconds} / 1000.0)`;

/** Jobs as they were, of events that `seqs` are known of by the position in what was given. */
const makeJobs = (given: string, seqs: string): string => `
  INSERT INTO boss.job (id, name, state, priority, retry_count, started_on, start_after, created_on, completed_on, data, output,
    retry_limit, expire_seconds, deletion_seconds, keep_until)
  SELECT ${jobId(`${seqs}.seq`)}, job.handler, job.state::boss.job_state, job.priority, greatest(attempts - 1, 0),
    CASE WHEN attempts > 0 THEN received_at END, coalesce(${at(`"dueAtMs"`)}, now()), received_at, ${at(`"finishedAtMs"`)},
    job.data, job.output, 2147483647, 2147483647, 0, 'infinity'
  FROM ${seqs} JOIN json_to_recordset(${given}) AS job(n integer, handler text, state text, priority integer, attempts integer,
    "dueAtMs" double precision, "finishedAtMs" double precision, data jsonb, output jsonb) USING (n)
  ON CONFLICT DO NOTHING`;

/**
 * A batch and how far it goes, in one statement: after a crash the next one begins where this ended. What isn't finished
 * has no jobs yet: nobody handles it before it is handed over.
 */
const ARRIVE = `
  WITH given AS MATERIALIZED (
    SELECT g.*, nextval('receiver.seqs') AS seq FROM json_to_recordset($1) AS g(
      n integer, id uuid, type text, object uuid, reconciled boolean, "receivedAtMs" double precision, trace jsonb,
      duplicates integer, handled integer, pruned boolean, start integer, length integer, ${eventColumns()}) ORDER BY n
  ), ids AS (
    INSERT INTO receiver.ids (id, seq, day, handled)
    SELECT id, seq, floor("receivedAtMs" / 86400000), CASE WHEN pruned THEN handled ELSE 0 END
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
      offer, state, attempts, handled, finished_at, last_error)
    SELECT seq, id, type, object, reconciled, ${at(`"receivedAtMs"`)}, duplicates, trace, substring($2::bytea FROM start FOR length),
      offer, state, attempts, handled, ${at(`"finishedAtMs"`)}, "lastError"
    FROM given JOIN ids USING (id, seq) WHERE NOT pruned
    ORDER BY seq
    RETURNING seq, received_at
  ), arrived AS (SELECT n, seq, received_at FROM given JOIN events USING (seq)
  ), jobs AS (${makeJobs("$5", "arrived")}
  ), mark AS (
    INSERT INTO receiver.bookmarks VALUES ($3, $4) ON CONFLICT (name) DO UPDATE SET value = excluded.value
  )
  SELECT given.n FROM given JOIN ids USING (id, seq)`;

const ARRIVE_ALIASES = `
  WITH given AS (SELECT * FROM json_to_recordset($1) AS g(id uuid, of uuid, "receivedAtMs" double precision))
  INSERT INTO receiver.ids (id, seq, day, alias, handled)
  SELECT given.id, ids.seq, floor("receivedAtMs" / 86400000), true, ids.handled
  FROM given JOIN receiver.ids ON ids.id = given.of ORDER BY given.id
  ON CONFLICT (id) DO NOTHING`;

/** Gone until a worker announces them. */
const KNOW_HANDLERS = `
  INSERT INTO receiver.handlers (name, types, has_key, current) SELECT name, '{}', false, false FROM unnest($1::text[]) AS name
  ON CONFLICT (name) DO NOTHING`;
const LIST_HELD = `
  SELECT seq, 'evt_' || replace(id::text, '-', '') AS id FROM receiver.events
  WHERE offer = 'held' AND seq > $1 ORDER BY seq LIMIT $2`;
const HAND_OVER = `
  WITH given AS (SELECT * FROM json_to_recordset($1) AS g(n integer, seq bigint, duplicates integer, handled integer, ${eventColumns()})
  ), events AS (
    UPDATE receiver.events SET offer = given.offer, state = given.state, attempts = given.attempts, handled = given.handled,
      duplicates = greatest(events.duplicates, given.duplicates), due_at = ${at(`"dueAtMs"`)},
      finished_at = ${at(`"finishedAtMs"`)}, last_error = "lastError"
    FROM given WHERE events.seq = given.seq AND events.offer = 'held'
    RETURNING events.seq, n, received_at
  ), steps AS (
    INSERT INTO receiver.steps (handler, seq, name, result)
    SELECT handler, seq, name, result FROM events
    JOIN json_to_recordset($3) AS step(n integer, handler text, name text, result text) USING (n)
    ON CONFLICT DO NOTHING
  )
  ${makeJobs("$2", "events")}`;

const FIND_PRUNED = `
  SELECT 'evt_' || replace(ids.id::text, '-', '') AS id FROM receiver.ids LEFT JOIN receiver.events USING (seq)
  WHERE ids.id = ANY ($1::uuid[]) AND events.seq IS NULL`;
const READ_BACK = `
  SELECT found.*, encode(sha256(events.body), 'hex') AS hash, events.offer = 'held' AS "isHeld"
  FROM (${EVENT} WHERE seq = ANY (ARRAY(SELECT ids.seq FROM receiver.ids WHERE ids.id = ANY ($1::uuid[])))) AS found
  JOIN receiver.events USING (seq)`;

/** Not where the receiver has got one of its own meanwhile. */
const ADD_BOOKMARK = `INSERT INTO receiver.bookmarks VALUES ($1, $2) ON CONFLICT DO NOTHING`;
const REMEMBER_PRUNED = `
  UPDATE receiver.facts SET pruned_before = greatest(pruned_before, to_timestamp($1::double precision / 1000.0))`;

/** An event as it arrived: what is compared with the original. */
export type Arrived = {
  jobs: InboxJob[];
  receivedAtMs: number;
  /** Of its body; null once it is pruned. */
  hash: string | null;
  isHeld: boolean;
};

export type ArrivingInbox = Awaited<ReturnType<typeof openArriving>>;

/** The side of PostgreSQL of a move called `name`, into tables that are there. */
export async function openArriving(options: { url: string; schema?: string | undefined; name: string }) {
  const { url, schema = "receiver", name } = options;
  const packages = await loadPackages();
  const pool = createPool(packages, {
    url,
    schema,
    purpose: "move",
    connections: 2,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  const database = createDatabase(pool, await preparing(pool, schema));
  const { run } = database;
  const boss = createBoss(packages, { pool, schema, backend: "postgres" });
  const { bookmark, setBookmark } = createLedger(database, boss, null);
  const knowHandlers = async (events: readonly MovedEvent[]): Promise<void> => {
    const names = new Set(events.flatMap(({ jobs }) => jobs.flatMap(({ handler }) => handler ?? [])));
    await boss.addQueues([...names]);
    await run(KNOW_HANDLERS, [[...names]]);
  };

  return {
    /** Stores what isn't there yet, and answers how much that was. */
    arrive: async (batch: readonly MovedEvent[]): Promise<number> => {
      const finished = batch.map((event) => (isFinished(event) ? event : { ...event, jobs: [] }));
      await knowHandlers(finished);
      let start = 1;
      const rows = batch.map((event, n) => {
        const length = event.body?.length ?? 0;
        start += length;
        return { ...rowOf(event, n), ...(isFinished(event) ? {} : HELD), start: start - length, length };
      });
      const bodies = Buffer.concat(batch.map(({ body }) => body ?? Buffer.alloc(0)));
      const last = String(batch.at(-1)?.seq ?? 0);
      const given = [JSON.stringify(rows), bodies, name, last, JSON.stringify(finished.flatMap(jobRows))];
      return (await run(ARRIVE, given)).length;
    },
    arriveAliases: async (aliases: readonly MovedAlias[]): Promise<void> => {
      const rows = aliases.map((one) => ({ ...one, id: uuidOf(one.id), of: uuidOf(one.of) }));
      await run(ARRIVE_ALIASES, [JSON.stringify(rows)]);
    },
    /** The next of those that are held back, because they weren't finished. */
    held: async (afterSeq: number, limit: number): Promise<{ seq: number; id: string }[]> =>
      run(LIST_HELD, [afterSeq, limit]),
    /** Lets go of them, as they have become; `seq` is of this inbox. */
    handOver: async (events: readonly MovedEvent[]): Promise<void> => {
      if (events.length === 0) return;
      await knowHandlers(events);
      const rows = events.map((event, n) => ({ ...rowOf(event, n), seq: event.seq }));
      const steps = events.flatMap(({ jobs }, n) =>
        jobs.flatMap((job) => job.steps.map((step) => ({ ...step, n, handler: job.handler }))),
      );
      await run(HAND_OVER, [
        JSON.stringify(rows),
        JSON.stringify(events.flatMap(jobRows)),
        JSON.stringify(steps),
      ]);
    },
    readBack: async (ids: readonly string[]): Promise<Map<string, Arrived>> => {
      const uuids = ids.map(uuidOf);
      const rows = await run<EventRow & Arrived>(READ_BACK, [uuids]);
      const pruned = await run<{ id: string }>(FIND_PRUNED, [uuids]);
      const arrived = new Map<string, Arrived>(rows.map((row) => [row.id, row]));
      for (const { id } of pruned) arrived.set(id, { jobs: [], receivedAtMs: 0, hash: null, isHeld: false });
      return arrived;
    },
    /** How far a step of the move has come, by the seq of the inbox that is left. */
    position: async (step: string): Promise<number> => Number((await bookmark(bookmarkOf(step))) ?? 0),
    setPosition: async (step: string, seq: number): Promise<void> =>
      setBookmark(bookmarkOf(step), String(seq)),
    addBookmark: async ({ name: of, value }: { name: string; value: string }): Promise<void> => {
      await run(ADD_BOOKMARK, [of, value]);
    },
    rememberPruned: async (beforeMs: number): Promise<void> => {
      if (beforeMs > 0) await run(REMEMBER_PRUNED, [beforeMs]);
    },
    close: async (): Promise<void> => pool.end(),
  };

  function bookmarkOf(step: string): string {
    return step === "arrived" ? name : `${name} ${step}`;
  }
}
