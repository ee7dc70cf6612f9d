import { z } from "zod";
import { moment } from "./spelling.ts";

/** A job counts its selection, sends it, and is done, unless it is canceled or fails first. */
export const JOB_STATES = ["counting", "sending", "done", "canceled", "failed"] as const;

/** How many deliveries a selection has, by endpoint and event type, and how they ended: by state, verdict and cause. */
export const countSchema = z.object({
  object: z.literal("count"),
  total: z.number(),
  counts: z.array(z.object({ endpoint_id: z.string(), event_type: z.string(), count: z.number() })),
  endings: z.array(
    z.object({ state: z.string(), verdict: z.string(), cause: z.string().nullable(), count: z.number() }),
  ),
});

/** Resends a selection. `total` and `counts` exist once it has counted; `acknowledged` and `failed` grow meanwhile. */
export const jobSchema = countSchema.omit({ endings: true }).extend({
  object: z.literal("job"),
  id: z.string(),
  state: z.enum(JOB_STATES),
  selection: z.record(z.string(), z.unknown()),
  total: z.number().nullable(),
  sent: z.number(),
  acknowledged: z.number(),
  failed: z.number(),
  problem: z.string().nullable(),
  created_at: moment,
  /** When the last of it was sent, or it was canceled. */
  ended_at: moment.nullable(),
});

export type CountShape = z.input<typeof countSchema>;
export type JobShape = z.input<typeof jobSchema>;
