import { EventEmitter } from "node:events";
import type { Packages } from "./packages.ts";
import type { Client, Pool } from "./connection.ts";
import { JOBS_SCHEMA } from "./schema.ts";

/** The job that says: there are events to be handled. Which ones, only their rows know. */
export const TASK = "receiver:handle";

/** Of graphile-worker, where notifications don't come through: a transaction pooler lets none pass. */
const POLL_MS = 2_000;

export type Trigger = {
  /** What graphile-worker locks its jobs with. */
  pool: string;
  /** It gave up, after trouble that it found no way out of: start another. */
  ended: () => boolean;
  stop: () => Promise<void>;
};

/** Runs graphile-worker, whose jobs call `wake`. A lost connection is its own affair: it listens again. */
export async function startTrigger(
  pool: Pool,
  { graphile }: Packages,
  { wake, onTrouble }: { wake: () => void; onTrouble: (error: unknown) => void },
): Promise<Trigger> {
  const events = new EventEmitter();
  let id = "";
  events.on("pool:create", (event: { workerPool: { id: string } }) => {
    id = event.workerPool.id;
  });
  // Whatever was missed while nobody listened is found by looking.
  events.on("pool:listen:success", wake);
  events.on("pool:gracefulShutdown:error", ({ error }: { error: unknown }) => onTrouble(error));
  let ended = false;
  const runner = await graphile.run({
    pgPool: releasableTwice(pool),
    schema: JOBS_SCHEMA,
    taskList: { [TASK]: wake },
    noHandleSignals: true,
    preset: {
      worker: {
        concurrentJobs: 1,
        pollInterval: POLL_MS,
        // A transaction pooler gives every statement to another session.
        preparedStatements: false,
        // In batches, even of one: otherwise a line that is cut while a job ends is an unhandled rejection.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    events,
    logger: new graphile.Logger(() => () => undefined),
  });
  runner.promise.catch(onTrouble).finally(() => {
    ended = true;
  });
  return {
    pool: id,
    ended: () => ended,
    stop: async () => {
      if (!ended) await runner.stop();
    },
  };
}

/**
 * The same pool, whose connections may be given back twice: graphile-worker does that when a line breaks while it stops,
 * and what pg throws then, nobody would catch.
 */
function releasableTwice(pool: Pool): Pool {
  const connect = async (callback?: Parameters<Pool["connect"]>[0]): Promise<Client | void> => {
    if (callback === undefined) return pool.connect();
    pool.connect((error, client, release) => {
      let released = false;
      callback(error, client, (reason) => {
        if (!released) release(reason);
        released = true;
      });
    });
  };
  return new Proxy(pool, {
    get: (target, name): unknown => (name === "connect" ? connect : Reflect.get(target, name, target)),
  });
}
