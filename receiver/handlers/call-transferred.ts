import { z } from "zod";
import { defineHandler } from "../work/handler.ts";
import { textOrNull } from "./fields.ts";

/**
 * Notes that a call was handed to the staff line. The service does not say what `transfer_to` and
 * `transfer_succeeded` look like, so they are kept as the JSON they came as.
 */
export const callTransferred = defineHandler({
  type: "call.transferred",
  object: z.looseObject({ id: textOrNull, transfer_to: z.unknown(), transfer_succeeded: z.unknown() }),
  migrations: [
    `CREATE TABLE IF NOT EXISTS transfers (
      event_id TEXT PRIMARY KEY, call_id TEXT, transfer_to TEXT, transfer_succeeded TEXT)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    const call = event.data.object;
    await atomically(async (db) => {
      await db.query(INSERT_TRANSFER, [
        idempotencyKey,
        call.id,
        JSON.stringify(call.transfer_to ?? null),
        JSON.stringify(call.transfer_succeeded ?? null),
      ]);
    });
    log.debug({ call_id: call.id }, "transfer noted");
  },
});

const INSERT_TRANSFER = `
  INSERT INTO transfers (event_id, call_id, transfer_to, transfer_succeeded) VALUES ($1, $2, $3, $4) ON CONFLICT (event_id) DO NOTHING`;
