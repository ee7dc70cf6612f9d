import { defineHandler } from "../work/handler.ts";

/** Lists the people to call back, once for each voicemail, however many events it has. */
export const voicemailCreated = defineHandler({
  name: "list-callback",
  type: "voicemail.created",
  migrations: [
    `CREATE TABLE IF NOT EXISTS callbacks (
      voicemail_id TEXT PRIMARY KEY, call_id TEXT, phone TEXT, customer_name TEXT, message TEXT, left_at TEXT,
      called_back BIGINT NOT NULL DEFAULT 0)`,
  ],
  handle: async (event, { atomically }) => {
    const { id, call_id, phone, customer_name, message_text, created_at } = event.data.object;
    const row = [call_id, phone, customer_name, message_text, created_at].map((value) => value ?? null);
    await atomically((db) => db.query(INSERT, [id ?? event.id, ...row]));
  },
});

const INSERT = `
  INSERT INTO callbacks (voicemail_id, call_id, phone, customer_name, message, left_at)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (voicemail_id) DO NOTHING`;
