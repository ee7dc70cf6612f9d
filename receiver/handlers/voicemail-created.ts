import { defineHandler } from "../work/handler.ts";

/** Puts the caller on the list of people to call back, once a voicemail: a second event about it changes nothing. */
export const voicemailCreated = defineHandler({
  name: "list-callback",
  type: "voicemail.created",
  migrations: [
    `CREATE TABLE IF NOT EXISTS callbacks (
      voicemail_id TEXT PRIMARY KEY, call_id TEXT, phone TEXT, customer_name TEXT, message TEXT, left_at TEXT,
      called_back BIGINT NOT NULL DEFAULT 0)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    const { id, call_id, phone, customer_name, message_text, created_at } = event.data.object;
    const row = [call_id, phone, customer_name, message_text, created_at].map((value) => value ?? null);
    await atomically(async (db) => {
      await db.query(INSERT_CALLBACK, [id ?? idempotencyKey, ...row]);
    });
    log.debug({ voicemail_id: id }, "call-back listed");
  },
});

const INSERT_CALLBACK = `
  INSERT INTO callbacks (voicemail_id, call_id, phone, customer_name, message, left_at)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (voicemail_id) DO NOTHING`;
