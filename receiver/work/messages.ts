import { z } from "zod";

/** What the worker process tells its supervisor. */
export const workerMessageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("started"), workerId: z.string() }),
  /** Sent every second; a handler that blocks the process keeps it from being sent. */
  z.object({ kind: z.literal("alive") }),
  z.object({
    kind: z.literal("handled"),
    handled: z.object({
      id: z.string(),
      type: z.string(),
      attempt: z.number(),
      outcome: z.enum(["done", "ignored", "failed", "dead", "lost"]),
      durationMs: z.number(),
      error: z.string().optional(),
    }),
  }),
]);

/** What the supervisor tells its worker process. */
export const supervisorMessageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("wake") }),
  z.object({ kind: z.literal("drain"), graceMs: z.number() }),
]);

export type WorkerMessage = z.infer<typeof workerMessageSchema>;
export type SupervisorMessage = z.infer<typeof supervisorMessageSchema>;
