import { setImmediate } from "node:timers/promises";
import { within } from "../clock.ts";
import type { Config } from "../config.ts";
import { knownType } from "../operations/present.ts";
import type { Ending, Job, JobHandler, Store } from "../store/port.ts";
import { createAttempts, type Attempted, type AttemptOptions } from "./attempt.ts";
import type { Handler } from "./handler.ts";
import type { Ended } from "./messages.ts";
import { refuseEqualNames } from "./module.ts";
import { createRateLimit, policyOf, type Policy } from "./policy.ts";

/** How often a handler's queue looks for due jobs if nothing wakes it, and how long it waits after an error. */
const LOOK_MS = 1_000;
const TROUBLE_MS = 250;

/** After this many looks, timers and requests run, even if the store returns at once. */
const LOOKS_A_TURN = 50;

/** Ended attempts that may wait to be written before no more jobs are claimed. */
const MOST_UNWRITTEN = 512;

/** When it prunes: first after the start, then at intervals. */
const FIRST_PRUNE_MS = 60_000;
const PRUNE_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** How often a job is claimed to report its death: another job may end the process during the report. */
const REPORTS = 10;

/** The part of a drain that remains for handlers after their signal was aborted. */
const ABORTED_MS = 500;

export type WorkerOptions = AttemptOptions & {
  store: Pick<Store, "jobs" | "ledger">;
  handlers: readonly Handler[];
  config: Parameters<typeof policyOf>[1] & Parameters<typeof retentionOf>[0];
  random: () => number;
  /** Stops waiting for another worker to end. */
  signal?: AbortSignal | undefined;
  onEnded: (ended: Ended) => void;
  /** A handler still runs after its deadline. Its job has failed and the others were returned; now the process must end. */
  onStuck: (job: { handler: string; id: string }) => void;
};

export type Worker = Awaited<ReturnType<typeof startWorker>>;

/** The jobs of one handler: as many run as it has slots, the longest due first. */
type Queue = {
  policy: Policy;
  limit: ReturnType<typeof createRateLimit>;
  busy: number;
  alarm: AbortController;
};

/** Becomes the worker of the store and runs `handlers` on its jobs. */
export async function startWorker(options: WorkerOptions) {
  const { handlers, clock, log, random, config, onDead, onEnded } = options;
  const { jobs, ledger } = options.store;
  const { attempt, reportDead } = createAttempts(jobs, options);
  const stopping = new AbortController();
  /** Jobs whose handlers run; `unended` also has those whose end is being written. */
  const running = new Map<Job, AbortController>();
  const unended = new Set<Promise<void>>();
  let isGivingBack = false;
  let lastTrouble: string | undefined;

  refuseEqualNames(handlers);
  const queues = handlers.map((handler): Queue => ({
    policy: policyOf(handler, config, random),
    limit: createRateLimit(handler.rateLimit, clock),
    busy: 0,
    alarm: new AbortController(),
  }));
  const jobHandlers = queues.map(({ policy }) => jobHandler(policy, onDead !== undefined));
  await jobs.begin(jobHandlers, options.signal ?? stopping.signal);
  const stopListening = jobs.onArrival?.(wake);
  const loops = Promise.all(queues.map(runQueue));
  let cancelPruning = clock.after(FIRST_PRUNE_MS, () => void prune());

  return { wake, drain, running: () => [...running.keys()].map(({ handler, id }) => ({ handler, id })) };

  /** Looks for due jobs at once. */
  function wake(): void {
    // Without a reason, `abort` would create an error each time.
    for (const { alarm } of queues) alarm.abort("woken");
  }

  async function runQueue(queue: Queue): Promise<void> {
    for (let looks = 1; !stopping.signal.aborted; looks += 1) {
      queue.alarm = new AbortController();
      const restMs = await look(queue).catch(onTrouble);
      if (restMs > 0 && !stopping.signal.aborted) await clock.sleep(restMs, queue.alarm.signal);
      if (looks % LOOKS_A_TURN === 0) await setImmediate();
    }
  }

  /** Claims and starts as many jobs as there is room for. Returns how long to sleep. */
  async function look(queue: Queue): Promise<number> {
    const { policy, limit, busy } = queue;
    const isFull = unended.size >= running.size + MOST_UNWRITTEN;
    const room = isFull ? 0 : Math.min(policy.concurrency - busy, limit.room());
    if (room <= 0) return Math.min(LOOK_MS, limit.waitMs());
    const claimed = await jobs.claim(policy.handler.name, room);
    for (const job of claimed) {
      limit.begin();
      const done = work(job, queue).finally(() => unended.delete(done));
      unended.add(done);
    }
    // All queues look at the same time, so that the store can answer them with one statement.
    return claimed.length < room ? LOOK_MS - (clock.monotonicMs() % LOOK_MS) : 0;
  }

  /** Makes one attempt at a claimed job and writes its end. Never rejects. */
  async function work(job: Job, queue: Queue): Promise<void> {
    // Claimed just as the worker began to stop.
    if (stopping.signal.aborted) return void (await write(job, { kind: "returned" }));
    const { policy } = queue;
    const startedAtMs = clock.monotonicMs();
    const abort = new AbortController();
    running.set(job, abort);
    queue.busy += 1;

    const end = async ({ ending: own, isCommitted }: Attempted): Promise<void> => {
      const ending: Ending = isGivingBack && own.kind !== "done" ? { kind: "returned" } : own;
      if (ending.kind === "dead" && !isCommitted) await reportDead(job, ending);
      // False if it was returned meanwhile.
      if (!running.delete(job)) return;
      // In the same turn as the write: the store combines it with the next claim.
      queue.busy -= 1;
      queue.alarm.abort("woken");
      const isWritten = isCommitted || (await write(job, ending));
      // The next job with its key may be due now.
      if (policy.handler.key.length > 0) queue.alarm.abort("woken");
      const outcome = isCommitted ? "done" : isWritten === false ? "lost" : ending.kind;
      if (isWritten === undefined || outcome === "returned") return;
      const { id, handler, attempt } = job;
      const durationMs = clock.monotonicMs() - startedAtMs;
      const error = "error" in ending ? { error: ending.error } : {};
      onEnded({ handler, id, type: knownType(job.type), attempt, outcome, durationMs, ...error });
    };

    const onStuck = async (ending: Ending): Promise<void> => {
      stop();
      await end({ ending, isCommitted: false });
      await giveBack();
      options.onStuck({ handler: job.handler, id: job.id });
    };
    await end(await attempt(job, policy, abort, (ending) => void onStuck(ending)));
  }

  /** Retries until it is written, since no other attempt can start before. Undefined if the only try during a drain fails. */
  async function write(job: Job, ending: Ending): Promise<boolean | undefined> {
    for (;;) {
      try {
        const isWritten = await jobs.end(job, ending);
        lastTrouble = undefined;
        return isWritten;
      } catch (error) {
        const pauseMs = onTrouble(error);
        if (stopping.signal.aborted) return undefined;
        await clock.sleep(pauseMs, stopping.signal);
      }
    }
  }

  /** Logs the same error once, such as a full disk or a locked file. Returns how long to wait. */
  function onTrouble(error: unknown): number {
    if (String(error) !== lastTrouble)
      log.error({ err: error }, "the worker cannot use the database; it tries again");
    lastTrouble = String(error);
    return TROUBLE_MS;
  }

  async function prune(): Promise<void> {
    cancelPruning = clock.after(PRUNE_MS, () => void prune());
    try {
      const pruned = await ledger.prune(retentionOf(config, clock.nowMs()));
      if (pruned.bodies + pruned.ids > 0) log.info(pruned, "pruned");
    } catch (error) {
      log.error({ err: error }, "pruning failed; it tries again in an hour");
    }
  }

  function stop(): void {
    stopping.abort();
    cancelPruning();
    stopListening?.();
    wake();
  }

  /** Stops claiming, waits up to `graceMs` for running jobs, and returns the rest uncounted. */
  async function drain(graceMs: number): Promise<void> {
    const endAtMs = clock.monotonicMs() + graceMs;
    stop();
    const ended = loops.then(async () => Promise.all(unended));
    await within(Math.max(0, graceMs - ABORTED_MS), ended, clock);
    isGivingBack = true;
    const reason = new Error("The receiver stops: this attempt does not count.");
    for (const abort of running.values()) abort.abort(reason);
    await within(Math.max(0, endAtMs - clock.monotonicMs()), ended, clock);
    await giveBack();
  }

  async function giveBack(): Promise<void> {
    const left = [...running.keys()];
    running.clear();
    await Promise.all(left.map(async (job) => write(job, { kind: "returned" })));
  }
}

/** The times before which bodies and ids are pruned. */
export function retentionOf(
  { retentionDays, idRetentionDays }: Pick<Config, "retentionDays" | "idRetentionDays">,
  nowMs: number,
) {
  return { bodiesMs: nowMs - retentionDays * DAY_MS, idsMs: nowMs - idRetentionDays * DAY_MS };
}

/**
 * What the store needs to know about a handler. With `onDead` the store does not end a job as dead whose process died
 * during its last attempt: the job is claimed again, at once, and the worker reports its death.
 */
function jobHandler(policy: Policy, reportsDeaths: boolean): JobHandler {
  const { handler, maximumAttempts: most, backoffMs } = policy;
  const { name, types, key, migrations = [] } = handler;
  return {
    name,
    types,
    key,
    migrations,
    maximumAttempts: reportsDeaths ? most + REPORTS : most,
    backoffMs: (attempt) => (attempt >= most ? 0 : backoffMs(attempt)),
  };
}
