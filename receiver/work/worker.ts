import { within } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Ending, Job, JobHandler, Store } from "../store/port.ts";
import { createAttempts, type Attempted, type AttemptOptions } from "./attempt.ts";
import type { Ended } from "./ended.ts";
import type { Handler } from "./handler.ts";
import { policyOf, type Policy } from "./policy.ts";
import { createQueue, TROUBLE_MS } from "./queue.ts";
import { startRetention } from "./retention.ts";

/** The part of a drain that handlers get after their signal was aborted. */
const ABORTED_MS = 500;

export type WorkerOptions = AttemptOptions & {
  store: Store;
  handlers: readonly Handler[];
  config: Pick<
    Config,
    | "handlerTimeoutMs"
    | "idRetentionDays"
    | "maximumAgeMs"
    | "maximumAttempts"
    | "retentionDays"
    | "workerConcurrency"
  >;
  random: () => number;
  /** Ends the wait for another worker's end. */
  signal?: AbortSignal | undefined;
  onEnded: (ended: Ended) => void;
  /** A handler goes on after its deadline. Its job has failed and the others were given back: now the process has to end. */
  onStuck: (job: { handler: string; id: string }) => void;
};

export type Worker = {
  /** Looks for due jobs at once. */
  wake: () => void;
  /** Claims nothing more, waits up to `graceMs` for what runs, and gives the rest back uncounted. */
  drain: (graceMs: number) => Promise<void>;
  running: () => { handler: string; id: string }[];
};

/** Becomes the worker of the store, and has `handlers` handle its jobs, each as a queue of its own. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { store, handlers, clock, log, random, config, onDead, onEnded } = options;
  const { jobs } = store;
  const { attempt, reportDead } = createAttempts(jobs, options);
  const stopping = new AbortController();
  /** Jobs whose handler runs. */
  const running = new Map<Job, AbortController>();
  /** Those, and what writes their ends. */
  const working = new Set<Promise<void>>();
  let isGivingBack = false;
  let lastTrouble: string | undefined;

  const queues = handlers.map((handler) => {
    const policy = policyOf(handler, config, random);
    const queue = createQueue({
      jobs,
      handler,
      policy,
      clock,
      stopping: stopping.signal,
      work: async (job, onFree) => {
        const done = work(job, handler, policy, onFree);
        working.add(done);
        await done;
        working.delete(done);
      },
      onTrouble,
    });
    return { queue, job: jobHandler(handler, policy, onDead !== undefined) };
  });
  await jobs.begin(
    queues.map(({ job }) => job),
    options.signal ?? stopping.signal,
  );
  const stopListening = jobs.onArrival?.(wake);
  const stopRetention = startRetention(options);
  const loops = Promise.all(queues.map(async ({ queue }) => queue.run()));

  return { wake, drain, running: () => [...running.keys()].map(({ handler, id }) => ({ handler, id })) };

  function wake(): void {
    for (const { queue } of queues) queue.wake();
  }

  async function work(job: Job, handler: Handler, policy: Policy, onFree: () => void): Promise<void> {
    // Claimed while the worker began to stop.
    if (stopping.signal.aborted) return void (await write(job, { kind: "returned" }));
    const startedAtMs = clock.monotonicMs();
    const abort = new AbortController();
    running.set(job, abort);

    const end = async ({ ending, isCommitted }: Attempted): Promise<void> => {
      if (ending.kind === "dead" && !isCommitted && !isGivingBack) await reportDead(job, policy, ending.error);
      // False if it was given back meanwhile.
      if (!running.delete(job)) return;
      onFree();
      const isReturned = isGivingBack && ending.kind !== "done";
      const isWritten = isCommitted || (await write(job, isReturned ? { kind: "returned" } : ending));
      if (isWritten === undefined || (isReturned && !isCommitted)) return;
      const { id, type, attempt } = job;
      const outcome = isCommitted ? "done" : isWritten ? ending.kind : "lost";
      const error = "error" in ending ? { error: ending.error } : {};
      const durationMs = clock.monotonicMs() - startedAtMs;
      onEnded({ handler: handler.name, id, type, attempt, outcome, durationMs, ...error });
    };

    const onStuck = async (ending: Ending): Promise<void> => {
      stop();
      await end({ ending, isCommitted: false });
      await giveBack();
      options.onStuck({ handler: job.handler, id: job.id });
    };
    await end(await attempt(job, handler, policy, abort, (ending) => void onStuck(ending)));
  }

  /** Tries until it is written: until then, no attempt can follow. Only once during a drain; undefined if that fails. */
  async function write(job: Job, ending: Ending): Promise<boolean | undefined> {
    for (;;) {
      try {
        const isWritten = await jobs.end(job, ending);
        lastTrouble = undefined;
        return isWritten;
      } catch (error) {
        onTrouble(error);
        if (stopping.signal.aborted) return undefined;
        await clock.sleep(TROUBLE_MS, stopping.signal);
      }
    }
  }

  /** A full disk, a locked file: it passes. The same error is logged once. */
  function onTrouble(error: unknown): void {
    const trouble = String(error);
    if (trouble !== lastTrouble) log.error({ err: error }, "the worker cannot use the database; it tries again");
    lastTrouble = trouble;
  }

  function stop(): void {
    stopping.abort();
    wake();
    stopListening?.();
    stopRetention();
  }

  async function drain(graceMs: number): Promise<void> {
    const endAtMs = clock.monotonicMs() + graceMs;
    stop();
    const ended = loops.then(async () => Promise.all(working));
    await within(graceMs - ABORTED_MS, ended, clock);
    isGivingBack = true;
    for (const abort of running.values()) abort.abort(new Error("The receiver stops: this attempt does not count."));
    await within(endAtMs - clock.monotonicMs(), ended, clock);
    await giveBack();
  }

  async function giveBack(): Promise<void> {
    const left = [...running.keys()];
    running.clear();
    await Promise.all(left.map(async (job) => write(job, { kind: "returned" })));
  }
}

/**
 * What the store has to know of a handler. With `onDead`, the store does not bury a job whose last attempt died with its
 * process: it is claimed once more, at once, and the worker reports its death.
 */
function jobHandler({ name, types, key, migrations = [] }: Handler, policy: Policy, reports: boolean): JobHandler {
  const { maximumAttempts: most, backoffMs } = policy;
  return {
    name,
    types,
    key,
    migrations,
    maximumAttempts: reports ? most + 1 : most,
    backoffMs: (attempt) => (attempt >= most ? 0 : backoffMs(attempt)),
  };
}
