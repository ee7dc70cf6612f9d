import { z } from "zod";

/** What the load client must do. */
export const loadOrderSchema = z.object({
  url: z.string(),
  scheme: z.string(),
  secret: z.string(),
  events: z.number(),
  connections: z.number(),
});

export type LoadOrder = z.infer<typeof loadOrderSchema>;

/** The results. Latencies of the closed loop: from the last byte written to the last byte of the answer. */
export const loadResultSchema = z.object({
  tookMs: z.number(),
  answered: z.number(),
  statuses: z.record(z.string(), z.number()),
  p50Ms: z.number(),
  p99Ms: z.number(),
  p999Ms: z.number(),
});

export type LoadResult = z.infer<typeof loadResultSchema>;
