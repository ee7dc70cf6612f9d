import { LeaseLost, type Claim, type FailedJob, type JobHandler, type ProcessOptions } from "../../engine.ts";
import { DONE, endingOf, handledAs } from "../ending.ts";
import { createHandlerTransaction, type Means } from "./handler-transaction.ts";
import { keyOf, type ClaimedJob, type ClaimKey, type Jobs, type Settlement } from "./jobs.ts";

type Held = { job: ClaimedJob; handler: JobHandler; over: AbortController };

/** The jobs that a worker holds: to be begun, running, or being settled. */
export function createHands(
  engine: Means & { jobs: Jobs },
  options: ProcessOptions,
  on: {
    settle: (settlement: Settlement) => Promise<boolean>;
    /** A slot is free; how the job ended is not stored yet. */
    freed: (job: ClaimedJob) => void;
    stored: () => void;
  },
) {
  const { jobs, clock } = engine;
  const { concurrency } = options;
  const handlers = new Map(options.handlers.map((handler) => [handler.name, handler]));
  const held = new Map<string, Held>();
  const ready: Held[] = [];
  let running = 0;
  let isClosed = false;

  return {
    size: () => held.size,
    /** Whether also nothing runs any more whose claim was lost. */
    areEmpty: () => held.size === 0 && running === 0,
    waiting: () => ready.length,
    free: () => Math.max(concurrency - running - ready.length, 0),
    hasSuspect: () => [...held.values()].some(({ job }) => job.suspect),
    of: (handler: JobHandler) => [...held.values()].filter((one) => one.handler === handler).length,
    claims: () => [...held.values()].map(({ job }) => keyOf(job)),
    take: (claimed: readonly ClaimedJob[]): void => {
      for (const job of claimed) {
        const handler = handlers.get(job.handler);
        if (!handler) continue;
        const one = { job, handler, over: new AbortController() };
        held.set(nameOf(job), one);
        ready.push(one);
      }
      begin();
    },
    /** Begins nothing more: what a claim brings from now on is returned. */
    close: (): void => {
      isClosed = true;
    },
    /** Gives back what was claimed ahead. */
    returnWaiting: async (): Promise<void> => giveBack(ready.splice(0)),
    /** Gives back everything; what runs has its signal aborted. Those in `failed` have failed. */
    returnAll: async (failed: readonly FailedJob[]): Promise<void> => giveBack([...held.values()], failed),
    /**
     * Compares with what this worker holds by the database. What the database lacks is another worker's by now, since this
     * one was taken for dead. Answers what is not known here: it was claimed by a statement whose answer was lost.
     */
    compare: (theirs: readonly ClaimKey[]): ClaimKey[] => {
      const confirmed = new Set(theirs.map(nameOf));
      const strays = theirs.filter((claim) => !held.has(nameOf(claim)));
      for (const [name, one] of held) if (!confirmed.has(name)) forget(one, new LeaseLost(one.job.id));
      return strays;
    },
  };

  function begin(): void {
    if (isClosed) return;
    while (running < concurrency) {
      const next = ready.shift();
      if (!next) return;
      // Its claim may have been lost meanwhile.
      if (!held.has(nameOf(next.job))) continue;
      running += 1;
      run(next).catch(options.onTrouble);
    }
  }

  async function run({ job, handler, over }: Held): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    const transaction = createHandlerTransaction(engine, job, over.signal);
    const outcome = await options.handle(toClaim(job, over.signal, transaction.atomically));
    const committed = await transaction.committed();
    running -= 1;
    begin();
    const ending = committed ? DONE : endingOf(job.attempt, outcome, handler);
    const settled = committed || on.settle({ ...keyOf(job), ...ending });
    on.freed(job);
    const stored = await settled;
    held.delete(nameOf(job));
    on.stored();
    // A transaction whose answer was lost may have been committed.
    const isDone = !stored && (await jobs.isCompleted(job).catch(() => false));
    const { error } = isDone ? DONE : ending;
    const ended = stored ? handledAs(ending) : "lost";
    options.onHandled({
      handler: job.handler,
      id: job.id,
      type: job.type,
      attempt: job.attempt,
      outcome: isDone ? "done" : ended,
      durationMs: clock.monotonicMs() - startedAtMs,
      ...(error === null ? {} : { error }),
    });
  }

  function toClaim(job: ClaimedJob, signal: AbortSignal, atomically: Claim["atomically"]): Claim {
    const { handler, id, type, trace, attempt, waitingSinceMs, receivedAtMs } = job;
    const known = { handler, id, type, trace, attempt, waitingSinceMs, receivedAtMs };
    return { ...known, body: job.body.toString("utf8"), signal, atomically, steps: jobs.steps(job) };
  }

  async function giveBack(some: readonly Held[], failed: readonly FailedJob[] = []): Promise<void> {
    const settlements = some.map(({ job, handler }): Settlement => {
      const failure = failed.find((one) => one.handler === job.handler && one.id === job.id);
      if (!failure) return { ...keyOf(job), state: "returned" };
      return { ...keyOf(job), ...endingOf(job.attempt, { kind: "failed", error: failure.error }, handler) };
    });
    for (const one of some) forget(one, new Error("The receiver is shutting down."));
    await Promise.all(settlements.map(on.settle));
  }

  function forget({ job, over }: Held, reason: Error): void {
    held.delete(nameOf(job));
    over.abort(reason);
  }
}

/** Tells claims of one worker apart, also where it lost a job and claimed it again. */
function nameOf({ handler, job, token }: ClaimKey): string {
  return `${token} ${job} ${handler}`;
}
