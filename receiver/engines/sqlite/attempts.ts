import type { Clock } from "../../clock.ts";
import {
  LeaseLost,
  type Claim,
  type FailedJob,
  type Handled,
  type Outcome,
  type ProcessOptions,
} from "../../engine.ts";
import { DONE, endingOf, handledAs, type Ending, type RetryPolicy } from "../ending.ts";
import type { HandlerTransaction } from "./handler-transaction.ts";
import type { Settling } from "./settling.ts";
import type { ClaimedJob } from "./taking.ts";
import type { Transactions } from "./transactions.ts";

/** After trouble with the database, it is left alone for so long. */
export const TROUBLE_MS = 250;

export type AttemptParts = {
  settling: Settling;
  transactions: Transactions;
  handlerTransaction: HandlerTransaction;
  clock: Clock;
};

/** Has the handlers make attempts, and writes down how they end. */
export function createAttempts(
  engine: AttemptParts,
  options: Pick<ProcessOptions, "handle" | "onHandled" | "onTrouble">,
  /** `draining` is aborted when the worker drains; jobs in `failed` count as such, though their handlers still run. */
  { draining, failed }: { draining: AbortSignal; failed: () => readonly FailedJob[] },
) {
  const { settling, transactions, clock } = engine;

  return {
    /** One attempt from its begin to what is written of its end; `release` is called once only a common commit is missing. */
    async run(job: ClaimedJob, signal: AbortSignal, release: () => void): Promise<void> {
      const startedAtMs = clock.monotonicMs();
      const { atomically, committed } = engine.handlerTransaction(job, release);
      const outcome = await options.handle(toClaim(job, signal, atomically));
      if (committed()) return report(job, startedAtMs, DONE);
      const failure = failureOf(job);
      const ending = endingOf(job.attempts, failure ?? outcome, policyOf(job));
      // Aborted by a drain, the job is given back; after a lost lease that changes nothing.
      const isReturned = signal.aborted && !failure;
      const isWritten = await writeDown(() =>
        isReturned ? settling.return(job) : settling.settle(job, ending, clock.nowMs()),
      );
      // The commit that its writes share with those of others may come after its deadline: then it is done.
      if (!isWritten && committed()) return report(job, startedAtMs, DONE);
      // Without a valid lease nothing was written: the attempt is reported as lost, with its error.
      if (!isWritten) return report(job, startedAtMs, ending, "lost");
      if (!isReturned) report(job, startedAtMs, ending);
    },

    /** Returns jobs, or writes them down as failed where that is certain. Wants a transaction; what it answers reports it. */
    giveUp(jobs: readonly ClaimedJob[]): () => void {
      const reports = jobs.map((job) => {
        const failure = failureOf(job);
        const ending = failure && endingOf(job.attempts, failure, policyOf(job));
        if (!ending) settling.return(job);
        else if (settling.settle(job, ending, clock.nowMs()))
          return () => report(job, clock.monotonicMs(), ending);
        return () => undefined;
      });
      return () => reports.forEach((tell) => tell());
    },
  };

  function report(
    job: ClaimedJob,
    startedAtMs: number,
    ending: Ending,
    outcome: Handled["outcome"] = handledAs(ending),
  ): void {
    const { id, type, attempts: attempt } = job;
    const durationMs = clock.monotonicMs() - startedAtMs;
    const reason = ending.error === null ? {} : { error: ending.error };
    options.onHandled({ handler: job.handler.name, id, type, attempt, outcome, durationMs, ...reason });
  }

  function failureOf(job: ClaimedJob): Outcome | undefined {
    const found = failed().find(({ handler, id }) => handler === job.handler.name && id === job.id);
    return found && { kind: "failed", error: found.error };
  }

  function toClaim(job: ClaimedJob, signal: AbortSignal, atomically: Claim["atomically"]): Claim {
    const steps: Claim["steps"] = {
      find: async (name) => settling.findStep(job.job, name),
      record: async (name, json) => {
        const isRecorded = await transactions.run(() => settling.recordStep(job, name, json));
        if (!isRecorded) throw new LeaseLost(job.id);
      },
    };
    return { ...job, handler: job.handler.name, attempt: job.attempts, signal, atomically, steps };
  }

  /**
   * Tries until it is written: nobody takes a claim from a worker that gives signs of life, so the job would stay claimed.
   * During a drain there is one try: once this worker is gone, others take the job back.
   */
  async function writeDown<Result>(statements: () => Result): Promise<Result> {
    for (;;) {
      try {
        return await transactions.run(statements);
      } catch (error) {
        if (draining.aborted) throw error;
        options.onTrouble(error);
        await clock.sleep(TROUBLE_MS, draining);
      }
    }
  }
}

function policyOf({ handler }: ClaimedJob): RetryPolicy {
  if (!handler.policy)
    throw new Error(`A job of ${handler.name} was claimed, which is not a handler of this process.`);
  return handler.policy;
}
