import { z } from "zod";
import type { Log } from "../operations/log.ts";

/** One attempt that has ended. `lost`: the job was no longer this attempt's, and nothing was written. */
const endedSchema = z.object({
  handler: z.string(),
  id: z.string(),
  /** `other` if it is not documented: it may be as long as a body. */
  type: z.string(),
  attempt: z.number(),
  outcome: z.enum(["done", "failed", "later", "dead", "lost"]),
  durationMs: z.number(),
  error: z.string().optional(),
});
export type Ended = z.infer<typeof endedSchema>;

/** From the handlers' process to its supervisor. */
export const childMessageSchema = z.discriminatedUnion("kind", [
  /** The handlers in `files` are loaded, and their services created. */
  z.object({ kind: z.literal("ready"), files: z.array(z.string()) }),
  /** The handlers cannot be used; the process ends. */
  z.object({ kind: z.literal("broken"), problem: z.string(), files: z.array(z.string()) }),
  /** Once a second. `isWorking`: it handles jobs, and does not wait for another worker's end. */
  z.object({
    kind: z.literal("alive"),
    isWorking: z.boolean(),
    memoryBytes: z.number(),
    ended: z.array(endedSchema),
  }),
]);
export type ChildMessage = z.infer<typeof childMessageSchema>;

/** From the supervisor to the handlers' process; `wake`: new events are stored. */
export const orderSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("wake") }),
  z.object({ kind: z.literal("drain"), graceMs: z.number() }),
]);
export type Order = z.infer<typeof orderSchema>;

const LINES = {
  done: ["info", "handled"],
  later: ["info", "put off by its handler"],
  failed: ["warn", "handling failed; it will be tried again"],
  lost: ["warn", "the job is no longer this worker's; nothing was written"],
  dead: ["error", "dead: fix the cause and requeue it"],
} as const;

/** Logs how an attempt has ended. */
export function logEnded(log: Log, { id, durationMs, ...ended }: Ended): void {
  const [level, line] = LINES[ended.outcome];
  log[level]({ event_id: id, ...ended, duration_ms: Math.round(durationMs) }, line);
}
