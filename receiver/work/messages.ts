import { z } from "zod";
import type { Handled } from "../engine.ts";

/** What the handlers' process is started with, as its only argument. */
export const assignmentSchema = z.object({
  /** The module of the handlers, as a URL, unless it is receiver/handlers. */
  handlersModule: z.url().optional(),
  workerId: z.string(),
});

/** What is counted of attempts that have ended. */
const attemptsSchema = z.array(
  z.object({
    handler: z.string(),
    type: z.string(),
    outcome: z.enum(["done", "failed", "later", "dead", "lost"] satisfies Handled["outcome"][]),
    durationMs: z.number(),
  }),
);

/** What the handlers' process tells its supervisor. */
export const childMessageSchema = z.discriminatedUnion("kind", [
  /** The handlers are loaded and their services made; it waits for `begin`. `files` are those that they came from. */
  z.object({ kind: z.literal("ready"), files: z.array(z.string()) }),
  /** The handlers cannot be used, for this reason; the process ends. */
  z.object({ kind: z.literal("broken"), problem: z.string(), files: z.array(z.string()) }),
  /** It handles jobs. */
  z.object({ kind: z.literal("started") }),
  /** Sent every second at least; a handler that blocks the process keeps it from being sent. */
  z.object({
    kind: z.literal("alive"),
    /** Since it was last sent. */
    ended: attemptsSchema,
    /** What its handlers hold in memory, buffers included. */
    memoryBytes: z.number(),
  }),
]);

/** What the supervisor tells the handlers' process. */
export const supervisorMessageSchema = z.discriminatedUnion("kind", [
  /** Load the handlers. */
  z.object({ kind: z.literal("load") }),
  /** Handle jobs. `predecessors` are workers that are gone, so that what they held is free. */
  z.object({ kind: z.literal("begin"), predecessors: z.array(z.string()) }),
  /** New events are stored. */
  z.object({ kind: z.literal("wake") }),
  z.object({ kind: z.literal("drain"), graceMs: z.number() }),
]);

export type EndedAttempt = z.infer<typeof attemptsSchema>[number];
export type Assignment = z.infer<typeof assignmentSchema>;
export type ChildMessage = z.infer<typeof childMessageSchema>;
export type SupervisorMessage = z.infer<typeof supervisorMessageSchema>;
