import { defineHandler } from "../work/handler.ts";

/** Keeps a log of calls without their transcripts, which stay with the service. */
export const callCompleted = defineHandler({
  name: "log-call",
  type: "call.completed",
  migrations: [
    `CREATE TABLE IF NOT EXISTS call_log (
      event_id TEXT PRIMARY KEY, call_id TEXT, agent_id TEXT, outcome TEXT, duration_seconds BIGINT, called_at TEXT)`,
  ],
  handle: async (event, { atomically, log }) => {
    const { id, agent_id, outcome, duration_sec, created_at } = event.data.object;
    // Any field may be missing.
    const row = [id, agent_id, outcome, duration_sec, created_at].map((value) => value ?? null);
    await atomically((db) => db.query(INSERT, [event.id, ...row]));
    log.debug({ call_id: id }, "call logged");
  },
});

const INSERT = `
  INSERT INTO call_log (event_id, call_id, agent_id, outcome, duration_seconds, called_at)
  VALUES ($1, $2, $3, $4, $5, $6)`;
