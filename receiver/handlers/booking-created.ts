import { defineHandler } from "../work/handler.ts";

/** Stores the booking as it came: the service does not publish its fields, so none is taken for granted. */
export const bookingCreated = defineHandler({
  name: "store-booking",
  type: "booking.created",
  migrations: [
    `CREATE TABLE IF NOT EXISTS bookings (event_id TEXT PRIMARY KEY, created BIGINT NOT NULL, details TEXT NOT NULL)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    await atomically(async (db) => {
      await db.query(INSERT_BOOKING, [idempotencyKey, event.created, JSON.stringify(event.data.object)]);
    });
    log.debug("booking stored");
  },
});

const INSERT_BOOKING = `INSERT INTO bookings (event_id, created, details) VALUES ($1, $2, $3) ON CONFLICT (event_id) DO NOTHING`;
