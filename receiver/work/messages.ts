import { z } from "zod";
import { handlingReportSchema } from "../operations/handling-metrics.ts";

/** What the handlers' process tells its supervisor. */
export const childMessageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("started"), workerId: z.string() }),
  /** Sent every second; a handler that blocks the process keeps it from being sent. */
  z.object({ kind: z.literal("alive"), handling: handlingReportSchema }),
]);

/** What the supervisor tells the handlers' process. */
export const supervisorMessageSchema = z.object({ kind: z.literal("drain"), graceMs: z.number() });

export type ChildMessage = z.infer<typeof childMessageSchema>;
export type SupervisorMessage = z.infer<typeof supervisorMessageSchema>;
