import { defineHandler } from "../work/handler.ts";

/** Stores the order as it came: the service does not publish its fields, so none is taken for granted. */
export const orderCreated = defineHandler({
  name: "store-order",
  type: "order.created",
  migrations: [
    `CREATE TABLE IF NOT EXISTS orders (event_id TEXT PRIMARY KEY, created BIGINT NOT NULL, details TEXT NOT NULL)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    await atomically(async (db) => {
      await db.query(INSERT_ORDER, [idempotencyKey, event.created, JSON.stringify(event.data.object)]);
    });
    log.debug("order stored");
  },
});

const INSERT_ORDER = `INSERT INTO orders (event_id, created, details) VALUES ($1, $2, $3) ON CONFLICT (event_id) DO NOTHING`;
