import type { ServerRoom } from "../store/open.ts";
import type { Store } from "../store/port.ts";
import { adviceOn, createDatabase } from "./connection.ts";
import { createAnnouncements } from "./handlers.ts";
import { channelOf, createIntake } from "./intake.ts";
import { createJobs } from "./jobs.ts";
import { createLedger } from "./ledger.ts";
import { createSchema } from "./schema.ts";

/** How often a worker extends what it has, and looks for jobs of workers that died: their heartbeats end after 25 s. */
const BEAT_MS = 5_000;
/** Rounds after which it says that it is still there. */
const SEEN_ROUNDS = 12;
/** Without a heartbeat for so long others may soon take what a worker has in hand. */
const CUT_OFF_MS = 20_000;
const LISTEN_AGAIN_MS = 1_000;

const NOW = `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "nowMs"`;

/** Opens the inbox in a PostgreSQL database; makes its tables if they are not there. */
export const openServerStore: ServerRoom["openServerStore"] = async (options): Promise<Store> => {
  const { databaseUrl: url, databaseSchema: schema = "receiver", pool, clock, onCutOff } = options;
  const database = createDatabase({ url, schema, pool });
  await createSchema(database).catch(async (error: unknown) => {
    await database.close();
    throw new Error(`${String(error instanceof Error ? error.message : error)}${adviceOn(error)}`, {
      cause: error,
    });
  });
  const { jobs, addQueue, beat, reap, holds } = createJobs(database, clock);
  const announcements = createAnnouncements(database, addQueue);
  let cancel = (): void => undefined;

  return {
    intake: createIntake(database),
    jobs: {
      ...jobs,
      begin: async (handlers, signal) => {
        signal.throwIfAborted();
        await announcements.begin(handlers);
        await reap(handlers);
        void work(1, clock.monotonicMs());
      },
      onArrival: (callback) => listen(callback),
    },
    ledger: createLedger(database),
    nowMs: async () => (await database.run<{ nowMs: number }>(NOW))[0]?.nowMs ?? 0,
    close: async () => {
      cancel();
      await database.close();
    },
  };

  /** What a worker does beside its jobs. What fails is tried again in the next round. */
  async function work(round: number, beatAtMs: number): Promise<void> {
    const atMs = clock.monotonicMs();
    const isBeaten = await beat().then(
      () => true,
      () => false,
    );
    if (database.isClosed()) return;
    if (!isBeaten && holds() && clock.monotonicMs() - beatAtMs > CUT_OFF_MS)
      onCutOff?.("PostgreSQL took no heartbeat for 20 s: another worker may begin what runs here");
    await reap(announcements.handlers()).catch(() => undefined);
    if (round % SEEN_ROUNDS === 0)
      await announcements
        .seen()
        .then(announcements.care)
        .catch(() => undefined);
    if (!database.isClosed())
      cancel = clock.after(BEAT_MS, () => void work(round + 1, isBeaten ? atMs : beatAtMs));
  }

  /** One connection, which only shortens the wait for the next look. */
  function listen(callback: () => void): () => void {
    let end = (): void => undefined;
    let isStopped = false;
    void begin();
    return () => {
      isStopped = true;
      end();
    };

    async function begin(): Promise<void> {
      const again = (): void => {
        end();
        if (!isStopped) end = clock.after(LISTEN_AGAIN_MS, () => void begin());
      };
      try {
        const client = await database.connect();
        const release = (): void => client.release(true);
        end = () => {
          client.removeListener("error", again);
          client.on("error", () => undefined);
          end = () => undefined;
          release();
        };
        client.once("error", again);
        client.on("notification", callback);
        await client.query(`LISTEN ${channelOf(schema)}`);
        if (isStopped) end();
      } catch {
        again();
      }
    }
  }
};
