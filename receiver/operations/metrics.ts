import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "@prometheus-io/client";
import type { Counts, Handled } from "../engine.ts";
import type { Receipt } from "../intake/inbox.ts";
import { knownType } from "./privacy.ts";

export type Metrics = {
  received: (receipt: Receipt, seconds: number) => void;
  /** A request that was refused before it became a delivery. */
  refused: (reason: string) => void;
  /** Attempts that have ended, in whichever process. */
  handled: (attempts: readonly Pick<Handled, "handler" | "type" | "outcome" | "durationMs">[]) => void;
  workerDied: () => void;
  text: () => Promise<{ contentType: string; body: string }>;
};

/**
 * The receiver's metrics for Prometheus: base units, no ids or URLs as labels, unknown event types counted as `other`. The
 * counts of the inbox are read at each scrape; while the engine cannot answer, these metrics have no values. `workerAlive`
 * is undefined where this process has no worker, and `receiver_worker_up` then has no value either.
 */
export function createMetrics(options: {
  counts: () => Promise<Counts | undefined>;
  workerAlive?: (() => boolean) | undefined;
}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  type Labels<Label> = readonly Label[];
  const counter = <Label extends string>(name: string, help: string, labelNames: Labels<Label> = []) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: Labels<Label> = []) =>
    new Gauge({ name, help, labelNames, registers });

  const acknowledgement = new Histogram({
    name: "receiver_acknowledgement_seconds",
    help: "Time from a delivery's last byte to its answer, by result.",
    labelNames: ["result"] as const,
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const events = counter("receiver_events_total", "Verified events by type and result (stored, duplicate).", [
    "type",
    "result",
  ]);
  const rejections = counter(
    "receiver_rejections_total",
    "Requests that were not stored, by precise reason and by class: unavailable where this receiver is the reason.",
    ["reason", "class"],
  );
  const secrets = counter(
    "receiver_secret_matches_total",
    "Verified deliveries by the position of the secret that matched; a rotation is complete when the old one stays still.",
    ["position"],
  );
  const restarts = counter(
    "receiver_worker_restarts_total",
    "How often the worker process died, or was ended because it was blocked or took too much memory.",
  );
  const depth = gauge("receiver_inbox_events", "Events in the inbox by state.", ["state"]);
  const ofHandler = gauge("receiver_handler_jobs", "Jobs that are not done by handler and state.", [
    "handler",
    "state",
  ]);
  const oldest = gauge(
    "receiver_oldest_unfinished_event_age_seconds",
    "Age of the oldest event that is neither done, ignored nor dead; 0 when there is none.",
  );
  const up = gauge(
    "receiver_worker_up",
    "1 while the worker process gives signs of life, 0 while a handler blocks it or it is being started again.",
  );
  const handling = new Histogram({
    name: "receiver_handling_seconds",
    help: "Duration of an attempt at a job, by handler, type and outcome.",
    labelNames: ["handler", "type", "outcome"] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers,
  });

  const reject = (reason: string, isOurs: boolean): void =>
    rejections.inc({ reason, class: isOurs ? "unavailable" : "refused" });

  return {
    received: (receipt, seconds) => {
      acknowledgement.observe({ result: receipt.kind }, seconds);
      if (receipt.kind === "stored" || receipt.kind === "duplicate") {
        events.inc({ type: knownType(receipt.type), result: receipt.kind });
        secrets.inc({ position: String(receipt.secretIndex + 1) });
      } else {
        reject("reason" in receipt ? receipt.reason : receipt.kind, receipt.kind === "unavailable");
      }
    },
    refused: (reason) => reject(reason, OUR_REFUSALS.has(reason)),
    handled: (attempts) => {
      for (const { handler, type, outcome, durationMs } of attempts)
        handling.observe({ handler, type: knownType(type), outcome }, durationMs / 1_000);
    },
    workerDied: () => restarts.inc(),
    text: async () => {
      setGauges(await options.counts().catch(() => undefined));
      const body = `${await (ofProcess ??= measureProcess()).metrics()}${await registry.metrics()}`;
      return { contentType: registry.contentType, body };
    },
  };

  function setGauges(counted: Counts | undefined): void {
    depth.reset();
    ofHandler.reset();
    oldest.remove();
    up.remove();
    if (options.workerAlive) up.set(options.workerAlive() ? 1 : 0);
    if (!counted) return;
    for (const [state, count] of Object.entries(counted.byState)) depth.set({ state }, count);
    for (const { handler, ...states } of counted.byHandler)
      for (const [state, count] of Object.entries(states)) ofHandler.set({ handler, state }, count);
    oldest.set((counted.oldestUnfinishedAgeMs ?? 0) / 1_000);
  }
}

let ofProcess: Registry | undefined;

/** The metrics of the Node.js process. Their timers never end, so that all receivers share one set, made at the first scrape. */
function measureProcess(): Registry {
  const register = new Registry();
  // Measured ten times a second, the utilization cost a third of the CPU of a receiver at rest. It cannot be left out, so its
  // timer gets the longest time that there is, and its value, which is never measured, is not shown.
  collectDefaultMetrics({ register, eventLoopUtilizationTimeout: 2 ** 31 - 1 });
  for (const kind of ["summary", "histogram"])
    register.removeSingleMetric(`nodejs_eventloop_utilization_${kind}`);
  return register;
}

/** Refusals that are not the sender's fault. A drain is not among them: another process takes the delivery. */
const OUR_REFUSALS = new Set(["disk_low", "overloaded", "bug"]);
