import { LeaseLost, type Claim, type FailedJob, type JobHandler, type ProcessOptions } from "../../engine.ts";
import { endingOf, handledAs } from "../ending.ts";
import type { createTurns } from "../turns.ts";
import { createHandlerTransaction, type Means } from "./handler-transaction.ts";
import { nameOf, type ClaimedJob, type ClaimKey, type Jobs, type Settlement } from "./jobs.ts";
import { returned, settlementOf } from "./settling.ts";

const FORGOTTEN =
  "The handler ended before its atomically() did, so nothing was written: it has to await atomically().";

type Held = { job: ClaimedJob; handler: JobHandler; over: AbortController; begun: boolean };

/**
 * The jobs that a worker holds: to be begun, running, or being settled. A suspect begins when nothing else runs, and
 * nothing else begins beside it. `onEnded` is called when a slot is free, and again once what ended there is stored.
 */
export function createHands(
  engine: Means & { jobs: Jobs },
  options: ProcessOptions,
  on: {
    settle: (settlement: Settlement) => Promise<boolean>;
    turns: ReturnType<typeof createTurns>;
    ended: (how: { isStored: boolean; handler: JobHandler }) => void;
  },
) {
  const { jobs, clock } = engine;
  const { concurrency } = options;
  const handlers = new Map(options.handlers.map((handler) => [handler.name, handler]));
  const held = new Map<string, Held>();
  const ready: Held[] = [];
  let running = 0;
  let suspect: Held | undefined;
  let isClosed = false;

  return {
    size: () => held.size,
    waiting: () => ready.length,
    free: () => Math.max(concurrency - running - ready.length, 0),
    isFull: () => running >= concurrency,
    hasSuspect: () => suspect !== undefined,
    has: (claim: ClaimKey) => held.has(nameOf(claim)),
    of: (handler: JobHandler) => [...held.values()].filter((one) => one.handler === handler).length,
    claims: () => [...held.values()].map(({ job }) => keyOf(job)),
    take: (claimed: readonly ClaimedJob[]): void => {
      for (const job of claimed) {
        const handler = handlers.get(job.handler);
        if (!handler) continue;
        const one = { job, handler, over: new AbortController(), begun: false };
        held.set(nameOf(job), one);
        if (job.kind === "suspect") suspect = one;
        else ready.push(one);
      }
    },
    begin,
    /** Begins nothing more: what a claim brings from now on is returned. */
    close: (): void => {
      isClosed = true;
    },
    /** Gives back what was claimed ahead. */
    returnWaiting: async (): Promise<void> => giveBack(ready.splice(0)),
    returnUnbegun: async (): Promise<void> =>
      giveBack([...ready.splice(0), ...(suspect?.begun === false ? [suspect] : [])]),
    /** Gives back everything; what runs has its signal aborted. Those in `failed` have failed. */
    returnAll: async (failed: readonly FailedJob[]): Promise<void> => giveBack([...held.values()], failed),
    /** Somebody took this worker for dead: what it held is theirs. */
    loseAll: (): void => {
      for (const lost of held.values()) forget(lost, new LeaseLost(lost.job.id));
    },
  };

  function begin(): void {
    if (isClosed || suspect?.begun === true) return;
    while (running < concurrency) {
      const next = ready.shift();
      if (!next) break;
      start(next);
    }
    if (suspect !== undefined && running === 0) start(suspect);
  }

  function start(one: Held): void {
    if (held.get(nameOf(one.job)) !== one) {
      if (suspect === one) suspect = undefined;
      return;
    }
    one.begun = true;
    running += 1;
    run(one).catch(options.onTrouble);
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
    if (suspect === one) {
      suspect = undefined;
      on.turns.suspectHadIts();
    }
    begin();
    const ending = endingOf(job.attempt, outcome, handler);
    const settled = committed === "committed" || on.settle(settlementOf(keyOf(job), ending));
    on.ended({ isStored: false, handler });
    const stored = await settled;
    if (held.get(nameOf(job)) === one) held.delete(nameOf(job));
    on.ended({ isStored: true, handler });
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
