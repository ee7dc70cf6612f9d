import { defineHandler } from "../work/handler.ts";

/**
 * Notes that a call was handed to the staff line. The service does not say what `transfer_to` and
 * `transfer_succeeded` look like, so they are kept as the JSON they came as.
 */
export const callTransferred = defineHandler({
  name: "note-transfer",
  type: "call.transferred",
  migrations: [
    `CREATE TABLE IF NOT EXISTS transfers (
      event_id TEXT PRIMARY KEY, call_id TEXT, transfer_to TEXT, transfer_succeeded TEXT)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    const { id, transfer_to, transfer_succeeded } = event.data.object;
    const told = [transfer_to, transfer_succeeded].map((value) => JSON.stringify(value ?? null));
    await atomically(async (db) => {
      await db.query(INSERT_TRANSFER, [idempotencyKey, id ?? null, ...told]);
    });
    log.debug({ call_id: id }, "transfer noted");
  },
});

const INSERT_TRANSFER = `
  INSERT INTO transfers (event_id, call_id, transfer_to, transfer_succeeded) VALUES ($1, $2, $3, $4) ON CONFLICT (event_id) DO NOTHING`;
