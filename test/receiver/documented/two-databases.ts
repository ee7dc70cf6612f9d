import { handlersWith, type CreateServices } from "../../../receiver/work/handler.ts";

/** Another database cannot commit with ours: so first there, by a key that makes it happen once; then here. */
type Warehouse = { insert: (sql: string, values: string[]) => Promise<void> };

export const warehouse = handlersWith<CreateServices<{ warehouse: Warehouse }>>()({
  name: "warehouse",
  type: "call.completed",
  migrations: ["CREATE TABLE exported (event_id TEXT PRIMARY KEY)"],
  handle: async (event, { services, idempotencyKey, atomically }) => {
    await services.warehouse.insert("INSERT INTO calls VALUES (?, ?) ON CONFLICT DO NOTHING", [
      idempotencyKey,
      event.data.object.outcome ?? "",
    ]);
    await atomically(async (db) => {
      await db.query("INSERT INTO exported VALUES ($1)", [event.id]);
    });
  },
});
