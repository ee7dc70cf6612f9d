import type { Boss, Fetched, Kind } from "./boss.ts";
import type { Client, Database, Say } from "./connection.ts";
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
  /** Claims within a transaction what \`take\` finds, and answers it with its events; undefined when the lease was lost. */
  const claim = async (
    worker: string,
    held: readonly ClaimKey[],
    take: (client: Client, say: Say) => Promise<(Fetched & { kind: Kind })[]>,
  ): Promise<ClaimedJob[] | undefined> =>
    transaction(async (client, say) => {
      const fetched = await take(client, say);
      if (fetched.length === 0) return [];
      const keys = fetched.map(({ id, name, startedOn }) => ({ handler: name, job: id, token: startedOn }));
      const seqs = [...new Set(fetched.map(({ id }) => seqOf(id)))];
      const all = JSON.stringify([...held, ...keys]);
      const events = new Map(
        (await say<EventRow>(HOLD, [worker, all, seqs])).map((event) => [event.seq, event]),
      );
      // What was fetched is given back with the transaction.
      if (events.size === 0) throw new NoLease();
      return fetched.flatMap(({ id, name, startedOn, retryCount, data, kind }) => {
        const event = events.get(seqOf(id));
        if (!event) return [];
        const waitingSinceMs = data?.requeuedAtMs ?? event.receivedAtMs;
        return [
          {
            ...event,
            job: id,
            token: startedOn,
            handler: name,
            kind,
            attempt: retryCount + 1,
            waitingSinceMs,
          },
        ];
      });
    }).catch((error: unknown) => {
      if (error instanceof NoLease) return undefined;
      throw error;
    });

  return {
    look: async (worker: string, handlers: readonly string[]): Promise<Look> => {
      const [row] = await run<Omit<Look, "due"> & { due: [string, Kind][] }>(LOOK, [handlers, worker]);
      if (!row) throw new Error("PostgreSQL answered nothing about what is due.");
      return { ...row, due: row.due.map(([handler, kind]) => ({ handler, kind })) };
    },

    claim: async (worker: string, held: readonly ClaimKey[], wanted: readonly Wanted[]) =>
      claim(worker, held, async (client) => {
        const fetched = await Promise.all(
          wanted.map(async ({ handler, kind, limit }) => {
            const jobs = await boss.fetch(client, handler.name, kind, limit);
            return jobs.map((job) => ({ ...job, kind }));
          }),
        );
        return fetched.flat();
      }),

    /** For a handler with a rate limit: also answers when another attempt may begin. */
    claimLimited: async (worker: string, held: readonly ClaimKey[], wanted: Wanted) => {
      const { handler, kind } = wanted;
      const { limit, perMs } = handler.rateLimit ?? { limit: Infinity, perMs: 0 };
      let waitMs = 0;
      const jobs = await claim(worker, held, async (client, say) => {
        const [starts] = await say<{ recent: number; untilMs: number | null }>(FIND_STARTS, [
          handler.name,
          perMs,
        ]);
        const free = limit - (starts?.recent ?? 0);
        if (free <= 0) {
          waitMs = starts?.untilMs ?? perMs;
          return [];
        }
        const fetched = await boss.fetch(client, handler.name, kind, Math.min(wanted.limit, free));
        if (fetched.length > 0) await say(ADD_STARTS, [handler.name, perMs, fetched.length]);
        return fetched.map((job) => ({ ...job, kind }));
      });
      return { jobs, waitMs };
    },

    /** One job of an event, also before it is due. */
    claimOnly: async (worker: string, handler: string, eventId: string) =>
      claim(worker, [], async (_client, say) => {
        const jobs = await say<Fetched>(CLAIM_ONLY, [handler, uuidOf(eventId)]);
        return jobs.map((job) => ({ ...job, kind: "new" }));
      }),
  };
}

type EventRow = Pick<ClaimedJob, "seq" | "id" | "type" | "receivedAtMs" | "body" | "trace">;

class NoLease extends Error {}
