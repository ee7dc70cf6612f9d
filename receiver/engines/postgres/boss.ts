import type { BackendProfile, ConstructorOptions, Db, JobWithMetadata } from "pg-boss";
import type { JobHandler } from "../../engine.ts";
import { naming, type Client, type Pool } from "./connection.ts";
import type { Packages } from "./packages.ts";

/** Databases that speak PostgreSQL's protocol, by the names of pg-boss's profiles for them. */
export const POSTGRES_BACKENDS = ["postgres", "cockroachdb", "yugabytedb", "citus"] as const;
export type PostgresBackend = (typeof POSTGRES_BACKENDS)[number];

/** Of the tables that this version of pg-boss works on. */
const SCHEMA_VERSION = 40;

/** pg-boss's own care of its tables: statistics for it, bloated indexes rebuilt. Its watch over workers is not used. */
const CARE_SECONDS = 3_600;

/** A job that waits is new, a retry (or put off), or suspected of having felled its worker; so it is told by priority. */
export const KINDS = { new: 0, retry: 1, suspect: 2 } as const;
export type Kind = keyof typeof KINDS;

/** pg-boss's row of a job, as far as it is read. */
export type Fetched = Pick<
  JobWithMetadata<{ requeuedAtMs?: number } | null>,
  "id" | "name" | "retryCount" | "data"
> & {
  /** Exact to the microsecond: the fencing token. */
  startedOn: string;
};

const SET_POLICY = `UPDATE boss.queue SET policy = $2 WHERE name = $1 AND policy <> $2`;
/** A handler has got a key, or has none any more: what waits is looked at once more. */
const SET_WAITING = `
  UPDATE boss.job SET blocked = $2, policy = NULL WHERE name = $1 AND state < 'active' AND (policy IS NOT NULL OR blocked) <> $2`;

export type Boss = ReturnType<typeof createBoss>;

/** pg-boss on our connections: its tables, its queues, and what is due in them. */
export function createBoss(
  { PgBoss }: Packages,
  options: { pool: Pool; schema: string; backend: BackendProfile; onTrouble?: (error: unknown) => void },
) {
  const { pool, schema, backend } = options;
  const create = (more: ConstructorOptions) => {
    const boss = new PgBoss({
      db: executor(pool),
      schema: `${schema}_boss`,
      backend,
      schedule: false,
      superviseIntervalSeconds: CARE_SECONDS,
      monitorIntervalSeconds: CARE_SECONDS,
      queueCacheIntervalSeconds: CARE_SECONDS,
      flowIntervalSeconds: CARE_SECONDS,
      bamIntervalSeconds: CARE_SECONDS,
      ...more,
    });
    boss.on("error", (error) => options.onTrouble?.(error));
    return boss;
  };
  const boss = create({ migrate: false });
  const named = naming(schema);
  const addQueues = async (names: readonly string[]): Promise<void> => {
    const there = new Set((await boss.getQueues()).map(({ name }) => name));
    for (const name of names) if (!there.has(name)) await boss.createQueue(name);
  };

  return {
    /** Whether its tables are there, as this version wants them. Throws when they are a newer version's. */
    isCurrent: async (): Promise<boolean> => {
      if (!(await boss.isInstalled())) return false;
      const version = (await boss.schemaVersion()) ?? 0;
      if (version > SCHEMA_VERSION) {
        throw new Error(
          `The jobs in this database are of a newer pg-boss (schema ${String(version)}, this one knows ${String(SCHEMA_VERSION)}): update this receiver.`,
        );
      }
      return version === SCHEMA_VERSION;
    },
    install: async (): Promise<void> => {
      const installing = create({ supervise: false });
      await installing.start();
      await installing.stop({ graceful: false });
    },
    addQueues,
    /** A queue for each handler, by its name. */
    makeQueues: async (handlers: readonly JobHandler[]): Promise<void> => {
      await addQueues(handlers.map(({ name }) => name));
      for (const { name, key } of handlers) {
        const policy = key ? "key_strict_fifo" : "standard";
        const { rowCount } = await pool.query(named(SET_POLICY), [name, policy]);
        if (rowCount) await pool.query(named(SET_WAITING), [name, key !== undefined]);
      }
    },
    /** Claims what is due, on a connection whose transaction it becomes part of. */
    fetch: async (client: Client, queue: string, kind: Kind, limit: number): Promise<Fetched[]> => {
      const priority = KINDS[kind];
      const claimed = await boss.fetch<Fetched["data"] & object>(queue, {
        batchSize: limit,
        includeMetadata: true,
        minPriority: priority,
        maxPriority: priority,
        db: executor(client),
      });
      // On connections that answer timestamps as they are written.
      return claimed.map(({ id, name, retryCount, data, startedOn }) => ({
        id,
        name,
        retryCount,
        data,
        startedOn: String(startedOn),
      }));
    },
    startCare: async (): Promise<void> => {
      await boss.start();
    },
    stopCare: async (): Promise<void> => boss.stop({ graceful: false }),
  };
}

function executor(database: Pick<Client, "query">): Db {
  return { executeSql: async (text, values) => database.query(text, values) };
}
