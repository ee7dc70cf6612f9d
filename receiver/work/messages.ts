import { z } from "zod";
import { endedSchema } from "./ended.ts";

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
    ended: z.array(endedSchema),
    memoryBytes: z.number(),
  }),
]);

/** From the supervisor to the handlers' process. */
export const orderSchema = z.discriminatedUnion("kind", [
  /** New events are stored. */
  z.object({ kind: z.literal("wake") }),
  z.object({ kind: z.literal("drain"), graceMs: z.number() }),
]);

export type ChildMessage = z.infer<typeof childMessageSchema>;
export type Order = z.infer<typeof orderSchema>;
