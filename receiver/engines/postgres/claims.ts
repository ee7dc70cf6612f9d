import type { JobHandler } from "../../engine.ts";
import type { Boss, Fetched, Kind } from "./boss.ts";
import type { Database, Say } from "./connection.ts";
import type { ClaimedJob, ClaimKey } from "./jobs.ts";
import type { Wanted } from "./share.ts";
import { ID, jobId, milliseconds, seqOf, uuidOf } from "./text.ts";

/** What there is to do: which queues have something due, and what only one worker has to see to. */
export type Look = {
  due: { handler: string; kind: Kind }[];
  keyless: string[];
  waiting: boolean;
  expired: boolean;
  gone: boolean;
};

const DUE = `state < 'active' AND NOT blocked AND start_after <= now()`;
const LOOK = `
  SELECT
    ARRAY(SELECT ARRAY[wanted.name, kind] FROM unnest($1::text[]) AS wanted(name),
      (VALUES (0, 'new'), (1, 'retry'), (2, 'suspect')) AS kinds(priority, kind)
      WHERE EXISTS (SELECT FROM boss.job WHERE job.name = wanted.name AND job.priority = kinds.priority AND ${DUE})) AS due,
    ARRAY(SELECT name FROM receiver.handlers WHERE name = ANY ($1) AND keyed AND EXISTS (
      SELECT FROM boss.job WHERE job.name = handlers.name AND blocked AND state < 'active')) AS keyless,
    EXISTS (SELECT FROM receiver.events WHERE offer = 'waiting') AS waiting,
    EXISTS (SELECT FROM receiver.workers WHERE lease_until < clock_timestamp() AND id <> $2) AS expired,
    EXISTS (SELECT FROM receiver.handlers WHERE NOT current AND EXISTS (
      SELECT FROM boss.job WHERE job.name = handlers.name AND state < 'active')) AS gone`;

/** Rows of this handler are locked by it: starts are counted by one worker at a time. */
const FIND_STARTS = `
  SELECT count(at)::integer AS recent, ceil(extract(epoch FROM min(at) + $2 * interval '1 ms' - clock_timestamp()) * 1000)::integer AS "untilMs"
  FROM (SELECT starts FROM receiver.handlers WHERE name = $1 FOR UPDATE) AS locked
  LEFT JOIN LATERAL unnest(starts) AS at ON at > clock_timestamp() - $2 * interval '1 ms'`;
const ADD_STARTS = `
  UPDATE receiver.handlers SET starts =
    ARRAY(SELECT at FROM unnest(starts) AS at WHERE at > clock_timestamp() - $2 * interval '1 ms')
    || array_fill(clock_timestamp(), ARRAY[$3::integer])
  WHERE name = $1`;

const HOLD = `
  WITH held AS (UPDATE receiver.workers SET held = $2 WHERE id = $1 RETURNING id)
  SELECT seq, ${ID} AS id, type, ${milliseconds("received_at")} AS "receivedAtMs", body, trace
  FROM held, receiver.events WHERE seq = ANY ($3::bigint[])`;
const CLAIM_ONLY = `
  UPDATE boss.job SET state = 'active', started_on = now(), retry_count = retry_count + (started_on IS NOT NULL)::integer
  WHERE name = $1 AND id = (SELECT ${jobId("ids.seq")} FROM receiver.ids WHERE ids.id = $2) AND state < 'active'
  RETURNING id, name, retry_count AS "retryCount", started_on AS "startedOn", data`;

export type Claims = ReturnType<typeof createClaims>;

/** What is due, and how it is claimed. `held` are all claims that the worker knows it has. */
export function createClaims({ run, transaction }: Database, boss: Boss) {
  return {
    look: async (worker: string, handlers: readonly string[]): Promise<Look> => {
      const [row] = await run<Omit<Look, "due"> & { due: [string, Kind][] }>(LOOK, [handlers, worker]);
      if (!row) throw new Error("PostgreSQL answered nothing about what is due.");
      return { ...row, due: row.due.map(([handler, kind]) => ({ handler, kind })) };
    },

    /**
     * Claims what is wanted, with its events. `waitMs` says by the name of a handler whose rate is used up when another
     * attempt may begin.
     */
    claim: async (
      worker: string,
      held: readonly ClaimKey[],
      wanted: readonly Wanted[],
    ): Promise<{ jobs: ClaimedJob[]; waitMs: Map<string, number> }> => {
      const waitMs = new Map<string, number>();
      const jobs = await transaction(async (client, say) => {
        const fetch = async ({ handler, kind, limit }: Wanted): Promise<Claimed[]> => {
          const jobs = await boss.fetch(client, handler.name, kind, limit);
          return jobs.map((job) => ({ ...job, kind }));
        };
        const fetchLimited = async (one: Wanted, { limit, perMs }: RateLimit): Promise<Claimed[]> => {
          const { name } = one.handler;
          const [starts] = await say<Starts>(FIND_STARTS, [name, perMs]);
          const free = limit - (starts?.recent ?? 0);
          if (free <= 0) {
            waitMs.set(name, starts?.untilMs ?? perMs);
            return [];
          }
          const fetched = await fetch({ ...one, limit: Math.min(one.limit, free) });
          if (fetched.length > 0) await say(ADD_STARTS, [name, perMs, fetched.length]);
          return fetched;
        };
        const claimed: Claimed[] = [];
        // In one order for all workers, which wait for each other where starts are counted.
        for (const one of wanted.toSorted((a, b) => (a.handler.name < b.handler.name ? -1 : 1))) {
          const { rateLimit } = one.handler;
          if (rateLimit) claimed.push(...(await fetchLimited(one, rateLimit)));
        }
        const unlimited = wanted.filter(({ handler }) => handler.rateLimit === undefined);
        claimed.push(...(await Promise.all(unlimited.map(fetch))).flat());
        return hold(say, { worker, held, claimed });
      });
      return { jobs, waitMs };
    },

    /** One job of an event, also before it is due. */
    claimOnly: async (worker: string, handler: string, eventId: string): Promise<ClaimedJob[]> =>
      transaction(async (_client, say) => {
        const jobs = await say<Fetched>(CLAIM_ONLY, [handler, uuidOf(eventId)]);
        return hold(say, { worker, held: [], claimed: jobs.map((job) => ({ ...job, kind: "new" })) });
      }),
  };
}

type Claimed = Fetched & { kind: Kind };
type RateLimit = NonNullable<JobHandler["rateLimit"]>;
type Starts = { recent: number; untilMs: number | null };

/** Writes down what the worker holds from now on, and answers it with its events. Throws where its lease was lost. */
async function hold(
  say: Say,
  { worker, held, claimed }: { worker: string; held: readonly ClaimKey[]; claimed: readonly Claimed[] },
): Promise<ClaimedJob[]> {
  if (claimed.length === 0) return [];
  const keys = claimed.map(({ id, name, startedOn }) => ({ handler: name, job: id, token: startedOn }));
  const seqs = [...new Set(claimed.map(({ id }) => seqOf(id)))];
  const rows = await say<EventRow>(HOLD, [worker, JSON.stringify([...held, ...keys]), seqs]);
  // What was fetched is given back with the transaction.
  if (rows.length === 0) throw new NoLease();
  const events = new Map(rows.map((event) => [event.seq, event]));
  return claimed.flatMap(({ id, name, startedOn, retryCount, data, kind }) => {
    const event = events.get(seqOf(id));
    if (!event) return [];
    const waitingSinceMs = data?.requeuedAtMs ?? event.receivedAtMs;
    return [
      { ...event, job: id, token: startedOn, handler: name, kind, attempt: retryCount + 1, waitingSinceMs },
    ];
  });
}

type EventRow = Pick<ClaimedJob, "seq" | "id" | "type" | "receivedAtMs" | "body" | "trace">;

/** Somebody took this worker for dead since its lease was extended last. */
export class NoLease extends Error {
  override readonly name = "NoLease";
}
