import { setImmediate } from "node:timers/promises";
import { countFound } from "../domain/counts.ts";
import type { Deliveries } from "../domain/deliveries.ts";
import type { Endpoints } from "../domain/endpoints.ts";
import type { Dispatcher } from "../domain/dispatcher.ts";
import type { Emitter } from "../domain/emitter.ts";
import type { Journal } from "../domain/journal.ts";
import { notFound, type Refused, refused } from "../domain/refused.ts";
import type { Selection } from "../domain/selection.ts";
import type { jobSchema } from "../domain/job-shapes.ts";
import type { Kept } from "../domain/spelling.ts";
import type { Transaction } from "../domain/transaction.ts";
import { messageOf } from "../text/errors.ts";
import type { DeliveryVerbs } from "./deliveries.ts";

/** Deliveries that are sent in one turn of the event loop: some milliseconds. */
const MOST_A_TURN = 100;
const MOST_KEPT = 50;

export type Job = Kept<typeof jobSchema>;

export type JobResult = { ok: true; job: Job } | Refused;

export type JobVerbs = ReturnType<typeof createJobVerbs>;

/**
 * Sends all deliveries of a selection again, as one job: counts them, then sends them, the oldest first. Only the last
 * delivery of an event to an endpoint is sent, so that a second job repeats nothing; what waits for its next attempt is
 * tried now instead. One job runs at a time; the last 50 are kept, in memory.
 */
export function createJobVerbs(options: {
  findAll: DeliveryVerbs["findAll"];
  deliveries: Deliveries;
  endpoints: Pick<Endpoints, "find">;
  emitter: Emitter;
  dispatcher: Dispatcher;
  journal: Pick<Journal, "watch" | "write">;
  transaction: Transaction;
  now: () => number;
}) {
  const { deliveries, endpoints, emitter, journal, now } = options;
  let jobs: Job[] = [];
  let lastNumber = 0;
  let running: { job: Job; stop: AbortController; ended: Promise<void> } | undefined;
  /** Deliveries that are neither delivered nor dead, with their job. */
  const open = new Map<string, { job: Job; hasFailed: boolean }>();

  journal.watch((entry) => {
    if (entry.kind === "attempt.ended") note(entry.deliveryId);
    // Without an attempt: its endpoint was removed.
    else if (entry.kind === "delivery.changed" && isAbandoned(entry.deliveryId)) note(entry.deliveryId);
    if (entry.kind !== "reset") return;
    running?.stop.abort();
    open.clear();
    jobs = [];
  });

  function isAbandoned(deliveryId: string): boolean {
    return open.has(deliveryId) && deliveries.find(deliveryId)?.state === "dead";
  }

  function note(deliveryId: string): void {
    const sent = open.get(deliveryId);
    if (sent === undefined) return;
    const { job } = sent;
    const state = deliveries.find(deliveryId)?.state;
    if (sent.hasFailed) job.failed -= 1;
    sent.hasFailed = state !== "delivered";
    if (sent.hasFailed) job.failed += 1;
    else job.acknowledged += 1;
    if (state !== "attempting") open.delete(deliveryId);
    if (job.endedAtMs !== null && job.acknowledged + job.failed === job.sent) changed(job);
  }

  function changed(job: Job): void {
    journal.write({ kind: "job.changed", jobId: job.id });
  }

  async function run(job: Job, selection: Selection, signal: AbortSignal): Promise<void> {
    const found = await options.findAll(selection, signal);
    if (signal.aborted) return;
    const { total, counts } = countFound(found);
    Object.assign(job, { total, counts, state: "sending" });
    changed(job);
    const oldestFirst = found.toReversed();
    for (let at = 0; at < oldestFirst.length && !signal.aborted; at += MOST_A_TURN) {
      const some = oldestFirst.slice(at, at + MOST_A_TURN);
      const sent = options.transaction(() => some.flatMap(({ id }) => send(id) ?? []));
      for (const id of sent) open.set(id, { job, hasFailed: false });
      job.sent += sent.length;
      options.dispatcher.wake();
      changed(job);
      // Deadlines of attempts must not wait for a job.
      await setImmediate();
    }
  }

  /** Returns the id of the delivery that is sent; undefined if it was not kept, or its endpoint was removed meanwhile. */
  function send(id: string): string | undefined {
    const delivery = deliveries.find(id);
    if (delivery === undefined || endpoints.find(delivery.endpointId) === undefined) return undefined;
    if (delivery.state !== "attempting") return emitter.resend(delivery);
    deliveries.hurry(id, now());
    return id;
  }

  function get(id: string): JobResult {
    const job = jobs.find((known) => known.id === id);
    return job === undefined ? notFound("job", id) : { ok: true, job };
  }

  return {
    /** Starts a job; `asked` is the selection as the user wrote it. */
    start(selection: Selection, asked: Job["selection"]): JobResult {
      if (running !== undefined)
        return refused(`${running.job.id} is running: cancel it, or wait until it ends.`, "already_running");
      const job: Job = {
        id: `job_${++lastNumber}`,
        state: "counting",
        selection: asked,
        total: null,
        counts: [],
        sent: 0,
        acknowledged: 0,
        failed: 0,
        problem: null,
        createdAtMs: now(),
        endedAtMs: null,
      };
      jobs = [job, ...jobs.slice(0, MOST_KEPT - 1)];
      const stop = new AbortController();
      const ended = run(job, { ...selection, isLast: true }, stop.signal)
        .then(
          () => void (job.state = stop.signal.aborted ? "canceled" : "done"),
          (error: unknown) => void Object.assign(job, { state: "failed", problem: messageOf(error) }),
        )
        .finally(() => {
          running = undefined;
          job.endedAtMs = now();
          changed(job);
        });
      running = { job, stop, ended };
      changed(job);
      return { ok: true, job };
    },
    get,
    list: (): Job[] => jobs,
    /** Jobs that still have something to send or to be answered. */
    active: (): Job[] => [
      ...new Set([...(running ? [running.job] : []), ...[...open.values()].map(({ job }) => job)]),
    ],
    /** Ends a running job; deliveries already sent stay. */
    cancel(id: string): JobResult {
      const found = get(id);
      if (!found.ok) return found;
      if (running?.job !== found.job)
        return refused(`${id} is ${found.job.state}: there is nothing to cancel.`, "not_running");
      running.stop.abort();
      return found;
    },
    /** Resolves when the running job, if any, has sent everything. */
    ended: async (): Promise<void> => running?.ended,
    async close(): Promise<void> {
      running?.stop.abort();
      await running?.ended;
    },
  };
}
