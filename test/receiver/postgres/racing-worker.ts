import { z } from "zod";
import { systemClock } from "../../../receiver/clock.ts";
import { createLog } from "../../../receiver/operations/log.ts";
import { openServerStore } from "../../../receiver/postgres/index.ts";
import { defineHandler } from "../../../receiver/work/handler.ts";
import { startWorker } from "../../../receiver/work/worker.ts";

/** A worker process of the race: writes a row for each event, and for those with a key in `by_key` too. */
const databaseUrl = z.string().parse(process.argv[2]);
const store = await openServerStore({
  databaseUrl,
  clock: systemClock,
  isWorker: true,
  onFatal: () => process.exit(1),
  onCutOff: () => process.exit(1),
});
const effects = `CREATE TABLE IF NOT EXISTS effects (event_id text, attempt bigint);
  CREATE TABLE IF NOT EXISTS by_key (n bigserial, key text, place bigint)`;
const KEPT = { retentionDays: 30, idRetentionDays: 400, maximumAgeMs: 3_600_000 };
await startWorker({
  store,
  clock: systemClock,
  log: createLog({ level: "silent", secrets: [] }),
  clean: (text) => text,
  random: Math.random,
  config: { ...KEPT, handlerTimeoutMs: 10_000, maximumAttempts: 100, workerConcurrency: 16 },
  handlers: [
    defineHandler({
      name: "all",
      type: "*",
      backoff: () => 0,
      migrations: [effects],
      handle: async ({ id }, { atomically, attempt }) =>
        atomically(async (db) => {
          await db.query("INSERT INTO effects VALUES ($1, $2)", [id, attempt]);
        }),
    }),
    defineHandler({
      name: "in-order",
      type: "order.created",
      object: z.object({ phone: z.string(), place: z.number() }),
      key: "data.object.phone",
      backoff: () => 0,
      handle: async ({ data: { object } }, { atomically }) =>
        atomically(async (db) => {
          await db.query("INSERT INTO by_key (key, place) VALUES ($1, $2)", [object.phone, object.place]);
        }),
    }),
  ],
  onEnded: () => undefined,
  onStuck: () => process.exit(1),
});
