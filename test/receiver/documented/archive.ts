import { defineHandler } from "./services.ts";

/** Every event, also of types that there will be one day. */
export const archive = defineHandler({
  name: "archive",
  type: "*",
  migrations: ["CREATE TABLE archive (event_id TEXT PRIMARY KEY, type TEXT NOT NULL, event TEXT NOT NULL)"],
  handle: async (event, { atomically }) => {
    await atomically(async (db) => {
      await db.query("INSERT INTO archive VALUES ($1, $2, $3)", [
        event.id,
        event.type,
        JSON.stringify(event),
      ]);
    });
  },
});
