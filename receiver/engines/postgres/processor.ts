import { once } from "node:events";
import { LEASE_MS, type JobHandler, type Processor, type ProcessOptions } from "../../engine.ts";
import { createLoop, type Asked } from "../loop.ts";
import { SUSPECT } from "./boss.ts";
import { NoLease, type Claims, type Look } from "./claims.ts";
import type { Pool } from "./connection.ts";
import { queryOnce, transact, type Means } from "./handler-transaction.ts";
import { keyOf, nameOf, type ClaimedJob, type Jobs } from "./jobs.ts";
import type { Offers } from "./offers.ts";
import { share } from "./share.ts";

const HEARTBEAT_MS = LEASE_MS / 3;

/** Jobs claimed beyond those that can be begun at once, when they end faster than a statement takes. */
const MOST_AHEAD = 500;

/** The background loop over PostgreSQL: a notification wakes it, and it looks for what no notification tells. */
export function createProcessor(
  engine: Means & {
    jobs: Jobs & Claims & Offers;
    /** How often to look for what no notification tells: retries that have become due, claims of workers that vanished. */
    lookMs: number;
    /** The pool that listens for what was stored; `channel` is null where the database has no notifications. */
    listening: Pool;
    channel: string | null;
  },
  options: ProcessOptions,
): Processor {
  const { jobs, clock, lookMs } = engine;
  const { workerId: worker, handlers, only } = options;
  const loop = createLoop<ClaimedJob>(clock, options, ({ held, lose, room, wake, turns }) => {
    const leaving = new AbortController();
    let listening: Promise<void> | undefined;
    let predecessors = options.predecessors ?? [];
    // It has begun with the announcement of the handlers.
    let extendAtMs = clock.monotonicMs() + HEARTBEAT_MS;
    let turn = 0;
    let cancelWake = (): void => undefined;
    const doubt = (): void => void (extendAtMs = -Infinity);
    return {
      restMs: lookMs,
      aheadMs: lookMs,
      beat: async () => {
        // Without a connection that listens, whatever is due is found by looking.
        listening ??= listen()
          .catch(() => undefined)
          .finally(() => (listening = undefined));
        if (clock.monotonicMs() >= extendAtMs) await keepLease();
      },
      doubt,
      claim,
      transact: async (job, { signal, lost }, work) => transact(engine, job, [signal, lost], work),
      steps: jobs.steps,
      settle: async (job, ending) => jobs.settle({ ...keyOf(job), ...(ending ?? { state: "returned" }) }),
      isCompleted: jobs.isCompleted,
      leave: async () => {
        leaving.abort();
        await keepLease();
        await jobs.resign(worker);
      },
    };

    /** Listens for what is stored, until this worker leaves or the connection is gone. */
    async function listen(): Promise<void> {
      if (engine.channel === null) return;
      const client = await engine.listening.connect();
      try {
        client.on("notification", wake);
        const over = once(client, "end", { signal: leaving.signal }).catch(() => undefined);
        await client.query(`LISTEN "${engine.channel}"`);
        // Something may have come before.
        wake();
        await over;
        if (leaving.signal.aborted) return;
        doubt();
        wake();
      } finally {
        client.release(true);
      }
    }

    /**
     * Compares what is held here with what the database says. What it lacks is another worker's by now, since this one was
     * taken for gone. What is not known here was claimed by a statement whose answer was lost.
     */
    async function keepLease(): Promise<void> {
      extendAtMs = clock.monotonicMs() + HEARTBEAT_MS;
      const theirs = await jobs.keep(worker, handlers);
      const confirmed = new Set(theirs.map(nameOf));
      const known = new Set(held().map(nameOf));
      lose(held().filter((job) => !confirmed.has(nameOf(job))));
      const strays = theirs.filter((claim) => !known.has(nameOf(claim)));
      await Promise.all(strays.map(async (claim) => jobs.settle({ ...claim, state: "returned" })));
    }

    async function claim(asked: Asked): Promise<ClaimedJob[]> {
      if (only) return jobs.claimOnly(worker, only.handler, only.id);
      const look = await jobs.look(worker, handlers);
      if (look.expired || predecessors.length > 0) {
        await jobs.takeOver(worker, predecessors, handlers);
        predecessors = [];
        wake();
        return [];
      }
      await jobs.offer(look);
      for (const handler of handlers.filter(({ name }) => look.misfits.includes(name)))
        for (const job of await jobs.fit(handler))
          options.onHandled({ ...job, handler: handler.name, attempt: 0, outcome: "dead", durationMs: 0 });
      if (look.waiting || look.misfits.length > 0) wake();
      cancelWake();
      if (look.limitedMs !== null) cancelWake = clock.after(Math.max(look.limitedMs, 1), wake);
      return asked.isAhead ? [] : claimDue(look, asked);
    }

    async function claimDue(look: Look, { free, ended }: Asked): Promise<ClaimedJob[]> {
      turn += 1;
      const due = handlers.flatMap((handler) =>
        look.due.filter((one) => one.handler === handler.name).map(({ priority }) => ({ handler, priority })),
      );
      const others = due.filter(({ priority }) => priority !== SUSPECT);
      if (others.length === 0) turns.othersHadTheirs();
      const suspects = due.filter(({ priority }) => priority === SUSPECT);
      const suspect = turns.isOthers() ? undefined : suspects[turn % suspects.length];
      if (suspect && held().length > 0) return [];
      const slots = free + Math.min(ended, MOST_AHEAD);
      // Claimed ahead only where nothing limits them.
      const roomOf = (handler: JobHandler): number => {
        const most = room(handler.name);
        return most === Infinity && !handler.rateLimit ? Infinity : Math.min(free, most);
      };
      const wanted = suspect ? [{ ...suspect, limit: 1 }] : share(others, { slots, room: roomOf, turn });
      if (wanted.length === 0) return [];
      return jobs.claim(worker, held().map(keyOf), wanted).catch((error: unknown) => {
        if (!(error instanceof NoLease)) throw error;
        doubt();
        return [];
      });
    }
  });
  return { ...loop, query: async (sql, parameters) => queryOnce(engine, sql, parameters) };
}
