import type { PoolClient } from "pg";
import type { DatabaseServer } from "../store/open.ts";
import type { JobHandler, Store } from "../store/port.ts";
import { createDatabase, described } from "./connection.ts";
import { announce, migrate, queueOf } from "./handlers.ts";
import { channelOf, createIntake } from "./intake.ts";
import { createJobs } from "./jobs.ts";
import { createLedger } from "./ledger.ts";
import { addQueue, createBoss, createSchema } from "./schema.ts";

/** How often a worker extends its claims and looks for jobs of dead workers: heartbeats expire after 25 s. */
const BEAT_MS = 5_000;
/** How many rounds pass before it announces itself again. */
const SEEN_ROUNDS = 12;
/** After this time without a heartbeat, other workers may soon take its jobs. */
const CUT_OFF_MS = 20_000;

const NOW = `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "nowMs"`;

/** Opens the inbox in a PostgreSQL database. Creates the tables if they do not exist. */
export const openServerStore: DatabaseServer["openServerStore"] = async (options): Promise<Store> => {
  const { databaseUrl: url, databaseSchema: schema = "receiver", pool, clock, onCutOff } = options;
  const database = createDatabase(url, schema, pool);
  await createSchema(database).catch(async (cause: unknown) => {
    await database.close();
    throw new Error(described(cause), { cause });
  });
  const boss = createBoss(database);
  const { jobs, beat, reap, holds } = createJobs(database, boss, clock);
  let cancelRound = (): void => undefined;
  let cancelCutOff = (): void => undefined;
  let wake: (() => void) | undefined;
  let listening: Promise<PoolClient> | undefined;

  return {
    intake: createIntake(database),
    jobs: {
      ...jobs,
      begin: async (handlers, signal) => {
        signal.throwIfAborted();
        for (const handler of handlers) {
          await migrate(database, handler);
          await addQueue(boss, queueOf(handler));
        }
        await announce(database, handlers);
        await reap(handlers);
        void work(handlers, 1);
      },
      onArrival: (callback) => {
        wake = callback;
        void listen();
        return () => {
          wake = undefined;
          stopListening();
        };
      },
    },
    ledger: createLedger(database),
    nowMs: async () => (await database.run<{ nowMs: number }>(NOW))[0]?.nowMs ?? 0,
    close: async () => {
      cancelRound();
      cancelCutOff();
      stopListening();
      await database.close();
    },
  };

  /** The worker's tasks besides its jobs. A failed task is retried in the next round. */
  async function work(handlers: readonly JobHandler[], round: number): Promise<void> {
    void listen();
    const cancelNext = clock.after(CUT_OFF_MS, cutOff);
    try {
      await beat();
      cancelCutOff();
      cancelCutOff = cancelNext;
    } catch {
      cancelNext();
    }
    if (round % SEEN_ROUNDS === 0) await announce(database, handlers).catch(() => undefined);
    await reap(handlers).catch(() => undefined);
    if (!database.isClosed()) cancelRound = clock.after(BEAT_MS, () => void work(handlers, round + 1));
  }

  function cutOff(): void {
    if (!database.isClosed() && holds())
      onCutOff?.("PostgreSQL accepted no heartbeat for 20 s: another worker may begin the same jobs");
  }

  /** On its own connection. It only shortens the wait for the next look. */
  async function listen(): Promise<void> {
    if (!wake || listening) return;
    listening = database.connect();
    try {
      const client = await listening;
      client.on("notification", () => wake?.()).on("error", stopListening);
      await client.query(`LISTEN ${channelOf(schema)}`);
    } catch {
      stopListening();
    }
  }

  function stopListening(): void {
    void listening?.then((client) => client.release(true)).catch(() => undefined);
    listening = undefined;
  }
};
