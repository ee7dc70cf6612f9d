import { PgBoss, type BackendProfile, type Db, type JobWithMetadata } from "pg-boss";
import type { Client, Pool } from "./connection.ts";

/** The version of pg-boss's tables that this version of pg-boss works on. */
const SCHEMA_VERSION = 40;

/** How often pg-boss counts its table, however many workers ask it to. */
const CARE_SECONDS = 3_600;

/**
 * The priority of a job that waits: 0 when new, `RETRY` (also when put off), or `SUSPECT` when its worker vanished. Higher
 * by `KEYED` once its key is known: so workers of a handler with a key find the jobs whose key is not known yet, and workers of one
 * without a key never claim a job that has one.
 */
export const [RETRY, SUSPECT, KEYED] = [1, 2, 3];

/** pg-boss's row of a job, as far as it is read. */
export type Fetched = Pick<
  JobWithMetadata<{ requeuedAtMs?: number } | null>,
  "id" | "name" | "retryCount" | "priority" | "data"
>;

export type Boss = PgBoss;

/** Where its tables are, and in which kind of database. */
export type Place = { pool: Pool; schema: string; backend: BackendProfile };

/**
 * pg-boss on our connections. Only the one that makes the tables is started (`migrate`): a started one would go on with the
 * queues' settings of its start, and handlers are announced later.
 */
export function createBoss({ pool, schema, backend }: Place): Boss {
  const boss = new PgBoss({
    db: executor(pool),
    schema: `${schema}_boss`,
    backend,
    schedule: false,
    supervise: false,
    monitorIntervalSeconds: CARE_SECONDS,
  });
  // Errors that matter are thrown as well. An `error` event that nobody listens to would end the process.
  return boss.on("error", () => undefined);
}

/** Has pg-boss use a connection, in whose transaction it then takes part. */
export function executor(database: Pick<Client, "query">): Db {
  return { executeSql: async (text, values) => database.query(text, values) };
}

/** A queue for each handler, by its name. */
export async function addQueues(boss: Boss, names: Iterable<string>): Promise<void> {
  const there = new Set((await boss.getQueues()).map(({ name }) => name));
  for (const name of names) if (!there.has(name)) await boss.createQueue(name);
}

/** Whether its tables are there, as this version wants them. Throws when they are a newer version's. */
export async function isCurrent(boss: Boss): Promise<boolean> {
  if (!(await boss.isInstalled())) return false;
  const version = (await boss.schemaVersion()) ?? 0;
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `The jobs in this database are of a newer pg-boss (schema ${String(version)}, this one knows ${String(SCHEMA_VERSION)}): update this receiver.`,
    );
  }
  return version === SCHEMA_VERSION;
}
