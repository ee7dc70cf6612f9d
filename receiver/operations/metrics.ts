import type { Registry } from "@prometheus-io/client";
import type { Clock } from "../clock.ts";
import type { Receipt } from "../intake/inbox.ts";
import type { Counts } from "../store/port.ts";
import type { Ended } from "../work/messages.ts";
import { knownType } from "./present.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/** Refusals caused by the receiver. Draining does not count: another process takes the delivery. */
const OUR_REFUSALS = new Set(["unavailable", "disk_low", "overloaded", "bug"]);
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const SLICE_MS = 5_000;
const SLICES = 12;

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
  const slices: { index: number; ended: Map<string, number> }[] = [];
  const sliceIndex = (): number => Math.floor(options.clock.monotonicMs() / SLICE_MS);
  const refuse = (reason: string, kind = reason): void => {
    const labels = { reason, class: OUR_REFUSALS.has(kind) ? "unavailable" : "refused" };
    void record(({ rejections }) => rejections.inc(labels));
  };

  return {
    received: (receipt: Receipt, seconds: number): void => {
      const { kind: result } = receipt;
      void record(({ acknowledgement }) => acknowledgement.observe({ result }, seconds));
      if (!("secretIndex" in receipt)) return refuse("reason" in receipt ? receipt.reason : result, result);
      const position = String(receipt.secretIndex + 1);
      void record(({ events, secrets }) => {
        events.inc({ type: knownType(receipt.type), result });
        secrets.inc({ position });
      });
    },
    /** A request refused before it became a delivery. */
    refused: (reason: string): void => refuse(reason),
    handled: (attempts: readonly Pick<Ended, "handler" | "type" | "outcome" | "durationMs">[]): void => {
      const index = sliceIndex();
      const before = slices[index % SLICES];
      const slice = before?.index === index ? before : { index, ended: new Map<string, number>() };
      slices[index % SLICES] = slice;
      for (const { handler } of attempts) slice.ended.set(handler, (slice.ended.get(handler) ?? 0) + 1);
      void record(({ handling }) => {
        for (const { handler, type, outcome, durationMs } of attempts)
          handling.observe({ handler, type: knownType(type), outcome }, durationMs / 1_000);
      });
    },
    workerDied: (): void => void record(({ restarts }) => restarts.inc()),
    /** Attempts that ended in this receiver in the last minute, by handler. */
    lastMinute: (): Map<string, number> => {
      const recent = slices.filter(({ index }) => index > sliceIndex() - SLICES);
      const totals = new Map<string, number>();
      for (const [handler, ended] of recent.flatMap((slice) => [...slice.ended]))
        totals.set(handler, (totals.get(handler) ?? 0) + ended);
      return totals;
    },
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

  const of = <Label extends string>(name: string, help: string, labelNames: Label[]) => ({
    name: `receiver_${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  const counter = <Label extends string>(name: string, help: string, ...labels: Label[]) =>
    new Counter(of(name, help, labels));
  const gauge = <Label extends string>(name: string, help: string, ...labels: Label[]) =>
    new Gauge(of(name, help, labels));
  const histogram = <Label extends string>(name: string, help: string, ...labels: Label[]) =>
    new Histogram({ ...of(name, help, labels), buckets: BUCKETS });

  const jobs = gauge("handler_jobs", "Jobs that are not done, by state.", "handler", "state");
  const inbox = gauge("inbox_events", "All known events, including pruned ones.");
  const unwanted = gauge("unwanted_events", "Events that no handler wanted.");
  const oldest = gauge("oldest_unfinished_event_age_seconds", "Age of the oldest unfinished event, or 0.");
  const up = gauge("worker_up", "1 while the handlers' process works, 0 while it is blocked or starting.");
  return {
    acknowledgement: histogram("acknowledgement_seconds", "From the last byte to the answer.", "result"),
    events: counter("events_total", "Verified events that are stored or duplicates.", "type", "result"),
    rejections: counter("rejections_total", "Requests that were not stored.", "reason", "class"),
    secrets: counter("secret_matches_total", "Deliveries by the secret that verified them.", "position"),
    restarts: counter("worker_restarts_total", "How often the handlers' process died or was killed."),
    handling: histogram("handling_seconds", "Duration of an attempt.", "handler", "type", "outcome"),
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
