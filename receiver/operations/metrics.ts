import type { Registry } from "@prometheus-io/client";
import type { Clock } from "../clock.ts";
import type { Receipt } from "../intake/inbox.ts";
import type { Counts } from "../store/port.ts";
import type { Ended } from "../work/messages.ts";
import { knownType } from "./present.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/** Refusals caused by the receiver. Draining does not count: another process takes the delivery. */
const OUR_REFUSALS = new Set(["unavailable", "disk_low", "overloaded", "no_bytes", "bug"]);
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * The receiver's Prometheus metrics: base units, no ids or URLs as labels, unknown event types counted as `other`. Each
 * scrape counts the inbox; if the database does not answer, these gauges have no values. `workerAlive` is undefined if this
 * process has no worker; then `receiver_worker_up` has no value either.
 */
export function createMetrics(options: {
  counts: () => Promise<Counts | undefined>;
  clock: Clock;
  workerAlive?: (() => boolean) | undefined;
}) {
  // Loaded with the first event or scrape, so that it does not slow the start.
  let loaded: ReturnType<typeof createInstruments> | undefined;
  const record = async (one: (to: Awaited<NonNullable<typeof loaded>>) => void): Promise<void> =>
    one(await (loaded ??= createInstruments()));
  const refuse = (reason: string, kind = reason): void => {
    const labels = { reason, class: OUR_REFUSALS.has(kind) ? "unavailable" : "refused" };
    void record(({ rejections }) => rejections.inc(labels));
  };

  return {
    received: (receipt: Receipt, seconds: number): void => {
      const { kind: result } = receipt;
      void record(({ acknowledgement }) => acknowledgement.observe({ result }, seconds));
      if (!("secretIndex" in receipt)) return refuse("reason" in receipt ? receipt.reason : result, result);
      void record(({ events, secrets }) => {
        events.inc({ type: knownType(receipt.type), result });
        secrets.inc({ position: String(receipt.secretIndex + 1) });
      });
    },
    /** A request refused before it became a delivery. */
    refused: (reason: string): void => refuse(reason),
    handled: (attempts: readonly Pick<Ended, "handler" | "type" | "outcome" | "durationMs">[]): void =>
      void record(({ handling }) => {
        for (const { durationMs, handler, type, outcome } of attempts)
          handling.observe({ handler, type, outcome }, durationMs / 1_000);
      }),
    workerDied: (): void => void record(({ restarts }) => restarts.inc()),
    text: async () => {
      const counts = await options.counts().catch(() => undefined);
      const instruments = await (loaded ??= createInstruments());
      return instruments.text(counts, options.clock.nowMs(), options.workerAlive?.());
    },
  };
}

/** Metrics of the Node.js process. Their timers never stop, so all receivers share one set. */
let ofProcess: Registry | undefined;

async function createInstruments() {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } =
    await import("@prometheus-io/client");
  const registry = new Registry();
  if (!ofProcess) {
    ofProcess = new Registry();
    // Sampling it ten times a second takes a third of the CPU of an idle receiver, so it is not measured.
    collectDefaultMetrics({ register: ofProcess, eventLoopUtilizationTimeout: 2 ** 31 - 1 });
    for (const kind of ["summary", "histogram"])
      ofProcess.removeSingleMetric(`nodejs_eventloop_utilization_${kind}`);
  }
  const process = ofProcess;
  const of = (name: string, help: string, ...labelNames: string[]) => {
    return { name: `receiver_${name}`, help, labelNames, registers: [registry], buckets: BUCKETS };
  };

  const jobs = new Gauge(of("handler_jobs", "Jobs that are not done, by state.", "handler", "state"));
  const inbox = new Gauge(of("inbox_events", "All known events, including pruned ones."));
  const unwanted = new Gauge(of("unwanted_events", "Events that no handler wanted."));
  const oldest = new Gauge(
    of("oldest_unfinished_event_age_seconds", "Age of the oldest unfinished event, or 0."),
  );
  const up = new Gauge(
    of("worker_up", "1 while the handlers' process works, 0 while it is blocked or starting."),
  );
  return {
    acknowledgement: new Histogram(
      of("acknowledgement_seconds", "From the last byte to the answer.", "result"),
    ),
    events: new Counter(
      of("events_total", "Verified events that are stored or duplicates.", "type", "result"),
    ),
    rejections: new Counter(of("rejections_total", "Requests that were not stored.", "reason", "class")),
    secrets: new Counter(
      of("secret_matches_total", "Deliveries by the secret that verified them.", "position"),
    ),
    restarts: new Counter(of("worker_restarts_total", "How often the handlers' process died or was killed.")),
    handling: new Histogram(of("handling_seconds", "Duration of an attempt.", "handler", "type", "outcome")),
    text: async (counts: Counts | undefined, nowMs: number, alive: boolean | undefined) => {
      jobs.reset();
      for (const one of [inbox, unwanted, oldest, up]) one.remove();
      if (alive !== undefined) up.set(Number(alive));
      if (counts) {
        inbox.set(counts.events);
        unwanted.set(counts.unwanted);
        for (const { handler, ...counted } of counts.handlers)
          for (const state of ["waiting", "running", "dead", "ignored"] as const)
            jobs.set({ handler, state }, counted[state]);
        const since = counts.handlers.map(({ oldestUnfinishedAtMs }) => oldestUnfinishedAtMs ?? nowMs);
        oldest.set((nowMs - Math.min(nowMs, ...since)) / 1_000);
      }
      const body = (await process.metrics()) + (await registry.metrics());
      return { contentType: registry.contentType, body };
    },
  };
}
