import { z } from "zod";
import { defineHandler } from "./services.ts";

/** A table of one's own, in the receiver's database: exactly once, whatever crashes. */
export const booking = defineHandler({
  name: "booking",
  type: "booking.created",
  object: z.looseObject({ id: z.string(), party_size: z.int().catch(2) }),
  migrations: ["CREATE TABLE tables_booked (booking_id TEXT PRIMARY KEY, guests BIGINT NOT NULL)"],
  handle: async ({ data: { object } }, { atomically }) => {
    await atomically(async (db) => {
      await db.query("INSERT INTO tables_booked VALUES ($1, $2) ON CONFLICT (booking_id) DO NOTHING", [
        object.id,
        object.party_size,
      ]);
    });
  },
});
