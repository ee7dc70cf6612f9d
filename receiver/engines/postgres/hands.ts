import { LeaseLost, type Claim, type FailedJob, type JobHandler, type ProcessOptions } from "../../engine.ts";
import { endingOf, handledAs } from "../ending.ts";
import { createHandlerTransaction, type Means } from "./handler-transaction.ts";
import { nameOf, type ClaimedJob, type ClaimKey, type Jobs, type Settlement } from "./jobs.ts";
import { returned, settlementOf } from "./settling.ts";

const FORGOTTEN =
  "The handler ended before its atomically() did, so nothing was written: it has to await atomically().";

type Held = { job: ClaimedJob; handler: JobHandler; over: AbortController };

/**
 * The jobs that a worker holds: to be begun, running, or being settled. `onEnded` is called when a slot is free, and again
 * once what ended there is stored.
 */
export function createHands(
  engine: Means & { jobs: Jobs },
  options: ProcessOptions,
  on: {
    settle: (settlement: Settlement) => Promise<boolean>;
    ended: (how: { isStored: boolean; job: ClaimedJob; handler: JobHandler }) => void;
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
    /** Also of what is lost and runs on. */
    areEmpty: () => held.size === 0 && running === 0,
    waiting: () => ready.length,
    free: () => Math.max(concurrency - running - ready.length, 0),
    hasSuspect: () => [...held.values()].some(({ job }) => job.kind === "suspect"),
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
     * Hears what the database has in these hands. What it hasn't is somebody else's: this worker was taken for dead. What
     * it has and nobody here knows is answered: it was claimed by a statement whose answer was lost.
     */
    compare: (theirs: readonly ClaimKey[]): ClaimKey[] => {
      const has = (claims: Iterable<ClaimKey>): Set<string> =>
        new Set(Array.from(claims, (claim) => `${claim.token} ${nameOf(claim)}`));
      const [known, confirmed] = [has([...held.values()].map(({ job }) => job)), has(theirs)];
      for (const one of held.values()) {
        if (!confirmed.has(`${one.job.token} ${nameOf(one.job)}`)) forget(one, new LeaseLost(one.job.id));
      }
      return theirs.filter((claim) => !known.has(`${claim.token} ${nameOf(claim)}`));
    },
  };

  function begin(): void {
    if (isClosed) return;
    while (running < concurrency) {
      const next = ready.shift();
      if (!next) return;
      // Unless it was lost meanwhile.
      if (held.get(nameOf(next.job)) !== next) continue;
      running += 1;
      run(next).catch(options.onTrouble);
    }
  }

  async function run(one: Held): Promise<void> {
    const { job, handler, over } = one;
    const startedAtMs = clock.monotonicMs();
    const transaction = createHandlerTransaction(engine, job, over.signal);
    let outcome = await options.handle(toClaim(job, over.signal, transaction.atomically));
    const committed = await transaction.end();
    if (committed === "forgotten") outcome = { kind: "failed", error: FORGOTTEN };
    if (committed === "committed") outcome = { kind: "done" };
    running -= 1;
    begin();
    const ending = endingOf(job.attempt, outcome, handler);
    const settled = committed === "committed" || on.settle(settlementOf(keyOf(job), ending));
    on.ended({ isStored: false, job, handler });
    const stored = await settled;
    if (held.get(nameOf(job)) === one) held.delete(nameOf(job));
    on.ended({ isStored: true, job, handler });
    options.onHandled({
      handler: job.handler,
      id: job.id,
      type: job.type,
      attempt: job.attempt,
      outcome: stored ? handledAs(ending) : "lost",
      durationMs: clock.monotonicMs() - startedAtMs,
      ...(ending.error === null ? {} : { error: ending.error }),
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
      if (!failure) return returned(keyOf(job));
      const outcome = { kind: "failed", error: failure.error } as const;
      return settlementOf(keyOf(job), endingOf(job.attempt, outcome, handler));
    });
    for (const one of some) forget(one, new Error("The receiver is shutting down."));
    await Promise.all(settlements.map(on.settle));
  }

  function forget({ job, over }: Held, reason: Error): void {
    held.delete(nameOf(job));
    over.abort(reason);
  }
}

function keyOf({ handler, job, token }: ClaimedJob): ClaimKey {
  return { handler, job, token };
}
