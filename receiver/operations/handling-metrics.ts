import { Histogram, Registry } from "@prometheus-io/client";
import { z } from "zod";
import type { Handled } from "../engine.ts";
import { knownType } from "./privacy.ts";

const NAME = "receiver_handling_seconds";

/** As the library writes it; a handler may send its supervisor anything. */
const reportSchema = z.array(
  z.object({
    name: z.literal(NAME),
    help: z.string(),
    type: z.literal("histogram"),
    aggregator: z.literal("sum"),
    values: z
      .array(
        z.object({
          value: z.number(),
          metricName: z.string().startsWith(NAME),
          labels: z.record(z.string(), z.union([z.string(), z.number()])),
        }),
      )
      .max(10_000),
  }),
);

/** Totals since the worker process started, as it tells its supervisor. */
export type HandlingReport = z.infer<typeof reportSchema>;

/** What the worker process measures. */
export type HandlingMetrics = { handled: (handled: Handled) => void; report: () => Promise<HandlingReport> };

/** The worker's own metrics, counted where the work is done: nothing is said from process to process for each event. */
export function createHandlingMetrics(): HandlingMetrics {
  const registry = new Registry();
  const handling = new Histogram({
    name: NAME,
    help: "Duration of an attempt to handle an event, by type and outcome.",
    labelNames: ["type", "outcome"] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers: [registry],
  });
  return {
    handled: ({ type, outcome, durationMs }) =>
      handling.observe({ type: knownType(type), outcome }, durationMs / 1_000),
    report: async () => reportSchema.parse(await registry.getMetricsAsJSON()),
  };
}

export type Reports = {
  /** Takes the latest totals of the running worker process; what isn't a report changes nothing. */
  report: (json: unknown) => void;
  /** The worker process died: what it counted stays, and the next one counts from nothing. */
  died: () => void;
  /** To be summed. */
  all: () => object[];
};

/** Keeps the sums of what one worker process after the other has reported. */
export function createReports(): Reports {
  let retired: object = [];
  let latest: object = [];
  return {
    report: (json) => {
      const report = reportSchema.safeParse(json);
      if (report.success) latest = report.data;
    },
    died: () => {
      retired = Registry.aggregate([retired, latest]).getMetricsAsArray();
      latest = [];
    },
    all: () => [retired, latest],
  };
}
