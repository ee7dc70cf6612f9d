import { defineHandler } from "../work/handler.ts";

/** Records a transfer to the staff. The last two fields are stored as JSON, since the service does not publish their form. */
export const callTransferred = defineHandler({
  name: "note-transfer",
  type: "call.transferred",
  migrations: [
    `CREATE TABLE IF NOT EXISTS transfers (
      event_id TEXT PRIMARY KEY, call_id TEXT, transfer_to TEXT, transfer_succeeded TEXT)`,
  ],
  handle: async (event, { atomically }) => {
    const { id, transfer_to, transfer_succeeded } = event.data.object;
    const asJson = [transfer_to, transfer_succeeded].map((value) => JSON.stringify(value ?? null));
    await atomically((db) => db.query(INSERT, [event.id, id ?? null, ...asJson]));
  },
});

const INSERT = `
  INSERT INTO transfers (event_id, call_id, transfer_to, transfer_succeeded) VALUES ($1, $2, $3, $4)`;
