import { z } from "zod";
import { defineHandler } from "../work/handler.ts";
import { textOrNull, wholeNumberOrNull } from "./fields.ts";

/** Keeps a log of calls: one row a call, without the transcript, which stays with the service. */
export const callCompleted = defineHandler({
  type: "call.completed",
  object: z.looseObject({
    id: textOrNull,
    agent_id: textOrNull,
    outcome: textOrNull,
    duration_sec: wholeNumberOrNull,
    created_at: textOrNull,
  }),
  migrations: [
    `CREATE TABLE IF NOT EXISTS call_log (
      event_id TEXT PRIMARY KEY, call_id TEXT, agent_id TEXT, outcome TEXT, duration_seconds BIGINT, called_at TEXT)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    const call = event.data.object;
    await atomically(async (db) => {
      await db.query(INSERT_CALL, [
        idempotencyKey,
        call.id,
        call.agent_id,
        call.outcome,
        call.duration_sec,
        call.created_at,
      ]);
    });
    log.debug(
      { call_id: call.id, outcome: call.outcome, duration_seconds: call.duration_sec },
      "call logged",
    );
  },
});

const INSERT_CALL = `
  INSERT INTO call_log (event_id, call_id, agent_id, outcome, duration_seconds, called_at)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (event_id) DO NOTHING`;
