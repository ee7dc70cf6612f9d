import { once } from "node:events";
import { Pool } from "pg";
import { PgBoss } from "pg-boss";
import { z } from "zod";
import { systemClock as clock } from "../../receiver/clock.ts";
import { createGroupCommit } from "../../receiver/intake/inbox.ts";
import { createLog } from "../../receiver/operations/log.ts";
import { openServerStore } from "../../receiver/postgres/index.ts";
import type { Store } from "../../receiver/store/port.ts";
import { defineHandler } from "../../receiver/work/handler.ts";
import { startWorker } from "../../receiver/work/worker.ts";
import { CLIENTS, eventOf, ROW_TABLE } from "./postgres-events.ts";

/** One process of the benchmark on PostgreSQL: says "ready", waits for "go", and sends numbers of events that are done. */
const [kind, url, share] = z
  .tuple([
    z.enum(["ingest", "insert", "empty", "row", "key", "bare-empty", "bare-row"]),
    z.string(),
    z.coerce.number(),
  ])
  .parse(process.argv.slice(2));

const BATCH = 100;
const ADD_ROW = "INSERT INTO effects VALUES ($1, $2)";
const INSERT = `
  WITH event AS (INSERT INTO events VALUES ($1, $2, now(), $3) RETURNING id)
  INSERT INTO jobs SELECT id, 'h', 'waiting', now() FROM event`;

let unreported = 0;
/** One message for all events done in a turn: a message for each would cost as much as handling it. */
function count(done: number): void {
  if (unreported === 0)
    setImmediate(() => {
      process.send?.(unreported);
      unreported = 0;
    });
  unreported += done;
}

async function go(): Promise<void> {
  process.send?.("ready");
  await once(process, "message");
}

/** Stores this process's share of the events, as many at a time as there are clients. */
async function store(one: (n: number) => Promise<unknown>): Promise<void> {
  await go();
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < share) await one((next += 1)).then(() => count(1));
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

const openStore = async (): Promise<Store> =>
  openServerStore({ databaseUrl: url, clock, isWorker: true, onFatal: () => process.exit(1) });

async function work(): Promise<void> {
  const handler = defineHandler({
    name: "h",
    type: "*",
    ...(kind === "key" && { key: "data.object.phone" }),
    migrations: [ROW_TABLE],
    handle: async ({ id }, { atomically, attempt }) =>
      kind === "row" ? atomically(async (db) => void (await db.query(ADD_ROW, [id, attempt]))) : undefined,
  });
  const { jobs, ledger } = await openStore();
  // Like the bare engine, it is started before the clock.
  const going = Promise.withResolvers<void>();
  const claim: typeof jobs.claim = async (...given) => {
    await going.promise;
    return jobs.claim(...given);
  };
  await startWorker({
    store: { jobs: { ...jobs, claim }, ledger },
    clock,
    log: createLog({ level: "silent", secrets: [] }),
    clean: (text) => text,
    random: Math.random,
    config: {
      handlerTimeoutMs: 30_000,
      maximumAgeMs: 3_600_000,
      retentionDays: 30,
      idRetentionDays: 400,
      maximumAttempts: 9,
      workerConcurrency: BATCH,
    },
    handlers: [handler],
    onEnded: () => count(1),
    onStuck: () => process.exit(1),
  });
  await go();
  going.resolve();
}

/** pg-boss alone, with the same handler: fetches a batch, and writes each row with the completion of its job. */
async function workBare(): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 10 });
  const boss = new PgBoss({
    db: { executeSql: async (text, values) => pool.query(text, values) },
    schedule: false,
    supervise: false,
  });
  await boss.start();
  await go();
  for (;;) {
    const jobs = await boss.fetch("h", { batchSize: BATCH });
    if (jobs.length === 0) return;
    if (kind === "bare-empty")
      await boss.complete(
        "h",
        jobs.map(({ id }) => id),
      );
    else
      await Promise.all(
        jobs.map(async ({ id }) => {
          const client = await pool.connect();
          await client.query("BEGIN");
          await client.query(ADD_ROW, [id, 1]);
          await boss.complete("h", id, undefined, {
            db: { executeSql: async (text, values) => client.query(text, values) },
          });
          await client.query("COMMIT");
          client.release();
        }),
      );
    count(jobs.length);
  }
}

if (kind === "ingest") {
  const commit = createGroupCommit({ accept: (await openStore()).intake.accept, clock });
  await store(async (n) => {
    if (!(await commit(eventOf(n))).ok) process.exit(1);
  });
} else if (kind === "insert") {
  const pool = new Pool({ connectionString: url, max: 10 });
  await store(async (n) => {
    const { id, type, body } = eventOf(n);
    await pool.query({ text: INSERT, values: [id, type, body], name: "insert" });
  });
} else if (kind.startsWith("bare")) await workBare();
else await work();
