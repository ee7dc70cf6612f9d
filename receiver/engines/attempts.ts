import type { Clock } from "../clock.ts";
import type { Atomically, FailedJob, Handled, Outcome, ProcessOptions } from "../engine.ts";
import { DONE, endingOf, handledAs, UNKNOWN_POLICY, type Ending, type RetryPolicy } from "./ending.ts";
import type { Job, JobStore } from "./loop.ts";

/** Pause after trouble with the database. */
export const TROUBLE_MS = 250;

/** Has the handlers make attempts, and writes down how they end. */
export function createAttempts<Held extends Job>(
  store: JobStore<Held>,
  options: Pick<ProcessOptions, "handlers" | "handle" | "onHandled">,
  /** `draining` is aborted when the worker drains. */
  on: { clock: Clock; draining: AbortSignal; trouble: (error: unknown) => void },
) {
  const { clock, draining, trouble } = on;
  let failed: readonly FailedJob[] = [];
  const givenUp = new WeakSet<Held>();
  const policies = new Map<string, RetryPolicy>(options.handlers.map((handler) => [handler.name, handler]));

  return {
    /** One attempt, until its end is written down; `release` frees its slot as soon as only that is left to do. */
    async run(job: Held, signal: AbortSignal, release: () => void): Promise<void> {
      const startedAtMs = clock.monotonicMs();
      const { atomically, isCommitted } = transactionOf(job, signal, release);
      const outcome = await options.handle({ ...job, signal, atomically, steps: store.steps(job) });
      release();
      if (await isCommitted()) return report(job, startedAtMs, DONE);
      const failure = failureOf(job);
      const ending = endingOf(job.attempt, failure ?? outcome, policyOf(job));
      // Aborted by a drain, the job is given back; after a lost lease that changes nothing.
      const isReturned = signal.aborted && !failure;
      const isWritten = await writeDown(job, isReturned ? undefined : ending);
      // A transaction whose answer was lost may have been committed.
      const isCompleted = !isWritten && (await store.isCompleted?.(job).catch(() => false));
      if (isCompleted === true) return report(job, startedAtMs, DONE);
      // Without a valid lease nothing was written: the attempt is reported as lost, with its error.
      if (!isWritten) return givenUp.has(job) ? undefined : report(job, startedAtMs, ending, "lost");
      if (!isReturned) report(job, startedAtMs, ending);
    },

    /** Gives jobs back, or writes them down as failed where that is certain. */
    async giveUp(jobs: readonly Held[]): Promise<void> {
      const writing = jobs.map(async (job) => {
        const failure = failureOf(job);
        const ending = failure && endingOf(job.attempt, failure, policyOf(job));
        givenUp.add(job);
        if ((await writeDown(job, ending)) && ending) report(job, clock.monotonicMs(), ending);
      });
      await Promise.all(writing).catch(trouble);
    },

    /** These have failed, though their handlers may still run. */
    blame: (jobs: readonly FailedJob[]): void => void (failed = jobs),
  };

  /** The transaction of one attempt, and whether it is committed; one that its handler did not await is waited for. */
  function transactionOf(job: Held, lost: AbortSignal, onWritten: () => void) {
    let committing: Promise<unknown> | undefined;
    const atomically =
      (signal: AbortSignal): Atomically =>
      async (work) => {
        if (committing) {
          throw new Error("atomically() commits the job together with its writes: call it once, last.");
        }
        const transaction = store.transact(job, { signal, lost, onWritten }, work);
        committing = transaction;
        return transaction;
      };
    const isCommitted = async (): Promise<boolean> =>
      committing?.then(
        () => true,
        () => false,
      ) ?? false;
    return { atomically, isCommitted };
  }

  function report(
    job: Held,
    startedAtMs: number,
    ending: Ending,
    outcome: Handled["outcome"] = handledAs(ending),
  ): void {
    const { handler, id, type, attempt } = job;
    const durationMs = clock.monotonicMs() - startedAtMs;
    const reason = ending.error === null ? {} : { error: ending.error };
    options.onHandled({ handler, id, type, attempt, outcome, durationMs, ...reason });
  }

  function failureOf(job: Held): Outcome | undefined {
    const found = failed.find(({ handler, id }) => handler === job.handler && id === job.id);
    return found && { kind: "failed", error: found.error };
  }

  function policyOf({ handler }: Held): RetryPolicy {
    return policies.get(handler) ?? UNKNOWN_POLICY;
  }

  /**
   * Tries until it is written: nobody takes a claim from a worker that gives signs of life, so the job would stay claimed.
   * During a drain there is one try: what is left is given back when the worker leaves.
   */
  async function writeDown(job: Held, ending?: Ending): Promise<boolean> {
    for (;;) {
      try {
        return await store.settle(job, ending);
      } catch (error) {
        if (draining.aborted) throw error;
        trouble(error);
        await clock.sleep(TROUBLE_MS, draining);
      }
    }
  }
}
