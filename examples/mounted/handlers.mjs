import { defineHandler } from "voice-agent-webhook-kit/receiver";

/** Handlers run in their own process: whatever they do, the app still acknowledges events. */
export const handlers = [
  defineHandler({
    name: "list-calls",
    type: "call.completed",
    migrations: ["CREATE TABLE calls (call_id TEXT PRIMARY KEY, seconds INTEGER)"],
    handle: async (event, { atomically }) => {
      const { id, duration_sec: seconds } = event.data.object;
      // Any field may be missing. Written together with "this event is done": exactly once.
      await atomically((db) =>
        db.query("INSERT INTO calls VALUES ($1, $2) ON CONFLICT DO NOTHING", [
          id ?? event.id,
          seconds ?? null,
        ]),
      );
    },
  }),
  // An event has a job for each handler that wants it. This one wants all events, also of future types.
  defineHandler({
    name: "say-what-came",
    type: "*",
    handle: (_event, { log }) => log.info("came"),
  }),
];
