import { Histogram, Registry } from "@prometheus-io/client";
import { z } from "zod";
import { isEventType } from "../../shared/events.ts";
import type { Handled } from "../engine.ts";

/** What the handlers' process counted since it started, as the metrics library writes it down. */
export const handlingReportSchema = z.array(
  z.looseObject({
    name: z.string(),
    help: z.string(),
    type: z.string(),
    values: z.array(
      z.looseObject({
        value: z.number(),
        metricName: z.string(),
        labels: z.record(z.string(), z.union([z.string(), z.number()])),
      }),
    ),
  }),
);

export type HandlingReport = z.infer<typeof handlingReportSchema>;

/** Counts attempts where the handlers run; `report` is what goes to the process that is scraped. */
export function createHandlingMetrics() {
  const registry = new Registry();
  const handling = new Histogram({
    name: "receiver_handling_seconds",
    help: "Duration of an attempt to handle an event, by type and outcome.",
    labelNames: ["type", "outcome"] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers: [registry],
  });

  return {
    handled: ({ type, outcome, durationMs }: Handled): void =>
      handling.observe({ type: isEventType(type) ? type : "other", outcome }, durationMs / 1_000),
    report: async (): Promise<HandlingReport> =>
      handlingReportSchema.parse(await registry.getMetricsAsJSON()),
  };
}

/** Adds up what processes that come and go report, so that no sum ever gets smaller. */
export function createHandlingTotals() {
  let ended: HandlingReport[] = [];
  let latest: HandlingReport | undefined;

  return {
    report: (report: HandlingReport): void => {
      latest = report;
    },
    /** The process that reported is gone; the next one begins at zero. */
    end: async (): Promise<void> => {
      if (!latest) return;
      const sum = Registry.aggregate([...ended, latest]);
      latest = undefined;
      ended = [handlingReportSchema.parse(await sum.getMetricsAsJSON())];
    },
    text: async (): Promise<string> => Registry.aggregate([...ended, ...(latest ? [latest] : [])]).metrics(),
  };
}
