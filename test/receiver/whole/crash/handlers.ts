import { z } from "zod";
import { defineHandler, type Handler } from "../../../../receiver/work/handler.ts";

/** Effects that can be counted: one row each time a handler's transaction committed. */
const EFFECTS_TABLE = "CREATE TABLE IF NOT EXISTS effects (event_id TEXT, attempt INTEGER)";
export const INSERT_EFFECT = "INSERT INTO effects (event_id, attempt) VALUES ($1, $2)";

/** The type of an event says what its first attempt does to the process. Every later one succeeds. */
export const POINTS = ["mid-handler", "before-done", "after-done"] as const;

const object = z.looseObject({});

/** With `end` they kill the process at the point named by the event's type, in the first attempt only. */
export const countingHandlers = ({ end }: { end: () => void }): Handler[] => [
  defineHandler({
    name: "effects",
    type: "call.completed",
    object,
    migrations: [EFFECTS_TABLE],
    handle: async (event, { atomically, attempt }) => {
      await atomically(async (db) => void (await db.query(INSERT_EFFECT, [event.id, attempt])));
    },
  }),
  // A second handler of the same events: its jobs are interrupted with the process as well.
  defineHandler({ name: "archive", type: "*", object, handle: async () => undefined }),
  ...POINTS.map((point) =>
    defineHandler({
      name: point,
      type: point,
      object,
      handle: async (event, { atomically, attempt }) => {
        if (point === "mid-handler" && attempt === 1) end();
        await atomically(async (db) => {
          await db.query(INSERT_EFFECT, [event.id, attempt]);
          if (point === "before-done" && attempt === 1) end();
        });
        if (point === "after-done" && attempt === 1) end();
      },
    }),
  ),
];

/** Kills the process that took the event and this one, like a power switch. */
export function endEverything(): never {
  process.kill(process.ppid, "SIGKILL");
  process.kill(process.pid, "SIGKILL");
  for (;;);
}
