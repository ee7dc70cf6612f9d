import { Histogram, Registry } from "@prometheus-io/client";
import { z } from "zod";
import type { Handled } from "../engine.ts";
import { knownType } from "./privacy.ts";

const NAME = "receiver_handling_seconds";

/** What the handlers' process counted since it started, as the metrics library writes it down. */
export const handlingReportSchema = z.array(
  z.looseObject({
    name: z.literal(NAME),
    help: z.string(),
    type: z.literal("histogram"),
    aggregator: z.literal("sum"),
    values: z
      .array(
        z.looseObject({
          value: z.number(),
          metricName: z.string().startsWith(NAME),
          labels: z.record(z.string(), z.union([z.string(), z.number()])),
        }),
      )
      .max(10_000),
  }),
);

export type HandlingReport = z.infer<typeof handlingReportSchema>;

export type HandlingMetrics = {
  handled: (handled: Handled) => void;
  /** All that was counted, for the process that is scraped; undefined where nothing was since it was last asked. */
  news: () => Promise<HandlingReport | undefined>;
};

/** Counts attempts where the handlers run. */
export function createHandlingMetrics(): HandlingMetrics {
  const { handling, report } = createHistogram();
  let isNew = false;
  return {
    handled: ({ handler, type, outcome, durationMs }) => {
      isNew = true;
      handling.observe({ handler, type: knownType(type), outcome }, durationMs / 1_000);
    },
    news: async () => {
      if (!isNew) return undefined;
      isNew = false;
      return report();
    },
  };
}

function createHistogram() {
  const registry = new Registry();
  const handling = new Histogram({
    name: NAME,
    help: "Duration of an attempt at a job, by handler, type and outcome.",
    labelNames: ["handler", "type", "outcome"] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers: [registry],
  });
  const report = async () => handlingReportSchema.parse(await registry.getMetricsAsJSON());
  return { handling, report };
}

export type HandlingTotals = {
  /** Takes the latest totals of the running process. */
  report: (report: HandlingReport) => void;
  /** The process that reported is gone; the next one begins at zero. */
  end: () => void;
  text: () => Promise<string>;
};

/** Adds up what processes that come and go report, so that no sum ever gets smaller. */
export function createHandlingTotals(): HandlingTotals {
  // The metric is there from the start, and where another machine does the work.
  const nothing = createHistogram().report();
  let ended: HandlingReport = [];
  let latest: HandlingReport = [];

  return {
    report: (report) => {
      latest = report;
    },
    end: () => {
      ended = handlingReportSchema.parse(Registry.aggregate([ended, latest]).getMetricsAsArray());
      latest = [];
    },
    text: async () => Registry.aggregate([await nothing, ended, latest]).metrics(),
  };
}
