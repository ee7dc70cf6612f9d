import { z } from "zod";
import type { Log } from "../operations/log.ts";

/** An attempt that has ended. `lost`: the job no longer belonged to this attempt, and nothing was written. */
const endedSchema = z.object({
  handler: z.string(),
  id: z.string(),
  /** `other` if it is not documented: an unknown type may be as long as a body. */
  type: z.string(),
  attempt: z.number(),
  outcome: z.enum(["done", "failed", "later", "dead", "lost"]),
  durationMs: z.number(),
  error: z.string().optional(),
});
export type Ended = z.infer<typeof endedSchema>;

/** From the handlers' process to its supervisor. */
export const childMessageSchema = z.discriminatedUnion("kind", [
  /** The handlers are loaded, and their services created. `files`: when each of their files had been changed. */
  z.object({ kind: z.literal("ready"), files: z.record(z.string(), z.number()) }),
  /** The handlers cannot start; the process ends. */
  z.object({ kind: z.literal("broken"), problem: z.string(), files: z.record(z.string(), z.number()) }),
  /** Sent once a second. `isWorking`: it handles jobs, instead of waiting for another worker to end. */
  z.object({
    kind: z.literal("alive"),
    isWorking: z.boolean(),
    memoryBytes: z.number(),
    ended: z.array(endedSchema),
  }),
]);
export type ChildMessage = z.infer<typeof childMessageSchema>;

/** From the supervisor to the handlers' process. `wake`: new events were stored. */
export const orderSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("wake") }),
  z.object({ kind: z.literal("drain"), graceMs: z.number() }),
]);
export type Order = z.infer<typeof orderSchema>;

const LINES = {
  done: ["info", "handled"],
  later: ["info", "deferred by its handler"],
  failed: ["warn", "the attempt failed; it will be retried"],
  lost: ["warn", "the job no longer belongs to this worker; nothing was written"],
  dead: ["error", "dead: fix the cause and requeue it"],
} as const;

/** Logs how an attempt ended. */
export function logEnded(log: Log, { id, durationMs, ...ended }: Ended): void {
  const [level, line] = LINES[ended.outcome];
  log[level]({ event_id: id, ...ended, duration_ms: Math.round(durationMs) }, line);
}
