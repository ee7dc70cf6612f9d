import { defineHandler } from "../work/handler.ts";

/** Keeps a log of calls: one row a call, without the transcript, which stays with the service. */
export const callCompleted = defineHandler({
  name: "log-call",
  type: "call.completed",
  migrations: [
    `CREATE TABLE IF NOT EXISTS call_log (
      event_id TEXT PRIMARY KEY, call_id TEXT, agent_id TEXT, outcome TEXT, duration_seconds BIGINT, called_at TEXT)`,
  ],
  handle: async (event, { atomically, idempotencyKey, log }) => {
    const { id, agent_id, outcome, duration_sec, created_at } = event.data.object;
    const row = [id, agent_id, outcome, duration_sec, created_at].map((value) => value ?? null);
    await atomically(async (db) => {
      await db.query(INSERT_CALL, [idempotencyKey, ...row]);
    });
    log.debug({ call_id: id, outcome, duration_seconds: duration_sec }, "call logged");
  },
});

const INSERT_CALL = `
  INSERT INTO call_log (event_id, call_id, agent_id, outcome, duration_seconds, called_at)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (event_id) DO NOTHING`;
