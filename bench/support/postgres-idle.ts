import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { BENCH_HANDLER, CONCURRENCY, newEvents, openEngine } from "./postgres-events.ts";

const WORKERS = 3;
const SECONDS = 20;

/** This statement itself counts as one transaction. */
const FIND = `
  SELECT xact_commit + xact_rollback AS transactions, pg_current_wal_lsn() - '0/0' AS bytes,
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()) AS connections
  FROM pg_stat_database WHERE datname = current_database()`;

export type IdleCost = { transactions: number; bytes: number; connections: number };

/** What workers that have nothing to do cost, once they have done something: a second and a worker. */
export async function idle(url: string): Promise<IdleCost> {
  const engines = await Promise.all(Array.from({ length: WORKERS }, async () => openEngine(url)));
  const processors = await Promise.all(
    engines.map(async (engine, number) =>
      engine.work.process({
        handlers: [BENCH_HANDLER, { ...BENCH_HANDLER, name: "keyed", key: (body) => body }],
        workerId: `idle ${String(number)}`,
        concurrency: CONCURRENCY,
        handle: async () => ({ kind: "done" }),
        onHandled: () => undefined,
        onTrouble: (error) => process.stderr.write(`${String(error)}\n`),
      }),
    ),
  );
  await engines[0]?.intake.accept(newEvents(100));
  const client = new Client({ connectionString: url });
  await client.connect();
  // Idle connections are closed after half a minute, and counts are written down by those that ask.
  await delay(35_000);
  const look = async (): Promise<IdleCost> => {
    const { rows } = await client.query<Record<keyof IdleCost, string>>(FIND);
    const [row] = rows;
    return {
      transactions: Number(row?.transactions),
      bytes: Number(row?.bytes),
      connections: Number(row?.connections),
    };
  };
  const before = await look();
  await delay(SECONDS * 1_000);
  const after = await look();
  await client.end();
  await Promise.all(processors.map(async (processor) => processor.drain(1_000)));
  await Promise.all(engines.map(async (engine) => engine.close()));
  const each = (now: number, then: number): number => (now - then) / SECONDS / WORKERS;
  return {
    transactions: each(after.transactions, before.transactions),
    bytes: each(after.bytes, before.bytes),
    connections: after.connections / WORKERS,
  };
}
