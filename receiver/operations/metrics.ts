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
 * The receiver's metrics for Prometheus: base units, no ids or URLs as labels, event types that nobody knows folded to
 * `other`. The depths are asked of the engine at each scrape; while it can't tell, they are left out. `workerAlive` is
 * undefined where no worker belongs to this process.
 */
export function createMetrics(options: {
  counts: () => Promise<Counts>;
  workerAlive?: (() => boolean) | undefined;
}): Metrics {
  const registry = new Registry();
  const registers = [registry];

  const acknowledgement = new Histogram({
    name: "receiver_acknowledgement_seconds",
    help: "Time from a delivery's last byte to its answer, by result.",
    labelNames: ["result"] as const,
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const events = new Counter({
    name: "receiver_events_total",
    help: "Verified events by type and result (stored, duplicate).",
    labelNames: ["type", "result"] as const,
    registers,
  });
  const rejections = new Counter({
    name: "receiver_rejections_total",
    help: "Requests that were not stored, by precise reason and by class: unavailable where this receiver is the reason.",
    labelNames: ["reason", "class"] as const,
    registers,
  });
  const reject = (reason: string, isOurs: boolean): void =>
    rejections.inc({ reason, class: isOurs ? "unavailable" : "refused" });
  const secrets = new Counter({
    name: "receiver_secret_matches_total",
    help: "Verified deliveries by the position of the secret that matched; a rotation is complete when the old one stays still.",
    labelNames: ["position"] as const,
    registers,
  });
  const restarts = new Counter({
    name: "receiver_worker_restarts_total",
    help: "How often the worker process died or was ended because a handler blocked it.",
    registers,
  });
  gaugeDepths(registers, options.counts);
  gaugeWorker(registers, options.workerAlive);
  const handling = new Histogram({
    name: "receiver_handling_seconds",
    help: "Duration of an attempt at a job, by handler, type and outcome.",
    labelNames: ["handler", "type", "outcome"] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers,
  });

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
    text: async () => ({
      contentType: registry.contentType,
      body: `${await (ofProcess ??= measureProcess()).metrics()}${await registry.metrics()}`,
    }),
  };
}

let ofProcess: Registry | undefined;

/** What Node.js tells of its process. Its timers never end: one set for all receivers, made when somebody first asks. */
function measureProcess(): Registry {
  const register = new Registry();
  // That one is never counted, so it is not shown: ten times a second, it was a third of what a receiver costs at rest.
  collectDefaultMetrics({ register, eventLoopUtilizationTimeout: 2 ** 31 - 1 });
  for (const kind of ["summary", "histogram"])
    register.removeSingleMetric(`nodejs_eventloop_utilization_${kind}`);
  return register;
}

/** Of what is refused before it is read, what isn't the sender's doing. A drain is none of it: another process goes on. */
const OUR_REFUSALS = new Set(["disk_low", "overloaded", "bug"]);

function gaugeDepths(registers: Registry[], counts: () => Promise<Counts>): void {
  let asked: Promise<Counts | undefined> | undefined;
  /** The same for all gauges of a scrape, which are collected side by side. */
  const ask = async (): Promise<Counts | undefined> =>
    (asked ??= counts()
      .catch(() => undefined)
      .finally(() => {
        asked = undefined;
      }));
  const depth: Gauge<"state"> = new Gauge({
    name: "receiver_inbox_events",
    help: "Events in the inbox by state.",
    labelNames: ["state"] as const,
    registers,
    collect: async () => {
      const counted = await ask();
      depth.reset();
      for (const [state, events] of Object.entries(counted?.byState ?? {})) depth.set({ state }, events);
    },
  });
  const ofHandler: Gauge<"handler" | "state"> = new Gauge({
    name: "receiver_handler_jobs",
    help: "Jobs that are not done by handler and state.",
    labelNames: ["handler", "state"] as const,
    registers,
    collect: async () => {
      const counted = await ask();
      ofHandler.reset();
      for (const { handler, ...states } of counted?.byHandler ?? [])
        for (const [state, jobs] of Object.entries(states)) ofHandler.set({ handler, state }, jobs);
    },
  });
  const oldest: Gauge = new Gauge({
    name: "receiver_oldest_unfinished_event_age_seconds",
    help: "Age of the oldest event that is neither done, ignored nor dead; 0 when there is none.",
    registers,
    collect: async () => {
      const counted = await ask();
      oldest.remove();
      if (counted) oldest.set((counted.oldestUnfinishedAgeMs ?? 0) / 1_000);
    },
  });
}

function gaugeWorker(registers: Registry[], isAlive: (() => boolean) | undefined): void {
  const up: Gauge = new Gauge({
    name: "receiver_worker_up",
    help: "1 while the worker process gives signs of life, 0 while a handler blocks it or it is being started again.",
    registers,
    collect: () => {
      // Known by name everywhere, but without a value where no worker belongs to this process.
      if (isAlive) up.set(isAlive() ? 1 : 0);
      else up.remove();
    },
  });
}
