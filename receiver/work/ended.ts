import { z } from "zod";
import { isEventType } from "../../shared/events.ts";
import type { Log } from "../operations/log.ts";

/** One attempt that has ended. `lost`: another worker has the job, and nothing was written. */
export const endedSchema = z.object({
  handler: z.string(),
  id: z.string(),
  type: z.string(),
  attempt: z.number(),
  outcome: z.enum(["done", "failed", "later", "dead", "lost"]),
  durationMs: z.number(),
  error: z.string().optional(),
});

export type Ended = z.infer<typeof endedSchema>;

/** Logs how an attempt has ended. */
export function logEnded(log: Log, { id, handler, type, attempt, outcome, durationMs, error }: Ended): void {
  const fields = {
    event_id: id,
    handler,
    // A type that is not documented may be as long as a body.
    type: isEventType(type) ? type : "other",
    attempt,
    outcome,
    duration_ms: Math.round(durationMs),
    ...(error === undefined ? {} : { error }),
  };
  if (outcome === "done") log.info(fields, "handled");
  else if (outcome === "later") log.info(fields, "put off by its handler");
  else if (outcome === "failed") log.warn(fields, "handling failed; it will be tried again");
  else if (outcome === "lost") log.warn(fields, "another worker has the job");
  else log.error(fields, "dead: fix the cause and requeue it");
}
