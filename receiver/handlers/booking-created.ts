import { defineHandler } from "../work/handler.ts";

/** Stores the booking as received: the service does not publish its fields. */
export const bookingCreated = defineHandler({
  name: "store-booking",
  type: "booking.created",
  migrations: [
    "CREATE TABLE IF NOT EXISTS bookings (event_id TEXT PRIMARY KEY, created BIGINT, details TEXT)",
  ],
  handle: async ({ id, created, data }, { atomically }) => {
    const row = [id, created, JSON.stringify(data.object)];
    await atomically((db) => db.query("INSERT INTO bookings VALUES ($1, $2, $3)", row));
  },
});
