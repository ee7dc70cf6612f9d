import { defineHandler } from "../work/handler.ts";

/** Stores the order as received: the service does not publish its fields. */
export const orderCreated = defineHandler({
  name: "store-order",
  type: "order.created",
  migrations: ["CREATE TABLE IF NOT EXISTS orders (event_id TEXT PRIMARY KEY, created BIGINT, details TEXT)"],
  handle: async ({ id, created, data }, { atomically }) => {
    const row = [id, created, JSON.stringify(data.object)];
    await atomically((db) => db.query("INSERT INTO orders VALUES ($1, $2, $3)", row));
  },
});
