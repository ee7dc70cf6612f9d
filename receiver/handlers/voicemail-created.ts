import { z } from "zod";
import { defineHandler } from "../work/handler.ts";
import { textOrNull } from "./fields.ts";

/** Puts the caller on the list of people to call back, once a voicemail: a second event about it changes nothing. */
export const voicemailCreated = defineHandler({
  type: "voicemail.created",
  object: z.looseObject({
    id: textOrNull,
    call_id: textOrNull,
    phone: textOrNull,
    customer_name: textOrNull,
    message_text: textOrNull,
    created_at: textOrNull,
  }),
  migrations: [
    `CREATE TABLE IF NOT EXISTS callbacks (
      voicemail_id TEXT PRIMARY KEY, call_id TEXT, phone TEXT, customer_name TEXT, message TEXT, left_at TEXT,
      called_back BIGINT NOT NULL DEFAULT 0)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    const voicemail = event.data.object;
    await atomically(async (db) => {
      await db.query(INSERT_CALLBACK, [
        voicemail.id ?? idempotencyKey,
        voicemail.call_id,
        voicemail.phone,
        voicemail.customer_name,
        voicemail.message_text,
        voicemail.created_at,
      ]);
    });
    log.debug({ voicemail_id: voicemail.id }, "call-back listed");
  },
});

const INSERT_CALLBACK = `
  INSERT INTO callbacks (voicemail_id, call_id, phone, customer_name, message, left_at)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (voicemail_id) DO NOTHING`;
