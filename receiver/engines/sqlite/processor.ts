import {
  LeaseLost,
  type FailedJob,
  type HandlerDatabase,
  type ProcessOptions,
  type Processor,
} from "../../engine.ts";
import { createTurns } from "../turns.ts";
import { createAttempts, TROUBLE_MS, type AttemptParts } from "./attempts.ts";
import type { Claims } from "./claims.ts";
import type { Handlers, KnownHandler } from "./handlers.ts";
import type { ClaimedJob } from "./taking.ts";
import { createLease, type LeaseParts } from "./workers.ts";

/**
 * How often this asks at rest whether another process has written, other than the one that wakes it; and how often it
 * looks for what has come due, while something waits and while nothing does. None writes where nothing is due.
 */
const POLL_MS = 100;
const DUE_MS = 100;
const NOTHING_DUE_MS = 1_000;

/** Claims that are fetched ahead of the slots: doubled as long as they are used up in this time, up to this many. */
const LARGEST_BATCH = 256;
const QUICK_MS = 50;

/** What a drain leaves to handlers whose signal was aborted, before their jobs are returned. */
const ABORTED_MS = 500;

const SHUTTING_DOWN =
  "The receiver is shutting down: the job goes back to the inbox, and this attempt doesn't count.";

/**
 * The background loop: beat, take back what vanished workers held, claim a batch, and keep the slots busy from it. It
 * claims again as soon as the batch is used up. At rest it writes nothing: it looks whether something has come or is due.
 */
export function createProcessor(
  engine: LeaseParts &
    AttemptParts & {
      claims: Claims;
      handlers: Pick<Handlers, "own">;
      query: HandlerDatabase["query"];
      /** Whether others have written since the last time. */
      look: () => boolean;
    },
  options: ProcessOptions,
): Processor {
  const { claims, handlers, transactions, clock } = engine;
  const running = new Map<ClaimedJob, AbortController>();
  const turns = createTurns(clock.monotonicMs);
  /** Slots that are taken. A job that only waits for the common commit has given its own back. */
  let busy = 0;
  let batch: ClaimedJob[] = [];
  let batchLimit = options.concurrency;
  let claimedAtMs = 0;
  let nextLookAtMs = -Infinity;
  let isOnlyClaimed = false;
  const draining = new AbortController();
  const held = (): ClaimedJob[] => [...batch, ...running.keys()];
  const lease = createLease(engine, { ...options, held, onLost: loseEverything });
  let failedJobs: readonly FailedJob[] = [];
  const attempts = createAttempts(engine, options, { draining: draining.signal, failed: () => failedJobs });
  let wake = (): void => undefined;

  const loop = runLoop();
  return { wake: wakeUp, drain, query: engine.query };

  /** Something may be there to claim. */
  function wakeUp(): void {
    nextLookAtMs = -Infinity;
    wake();
  }

  async function runLoop(): Promise<void> {
    while (!draining.signal.aborted) {
      let found = false;
      try {
        if (await lease.beat()) nextLookAtMs = -Infinity;
        found = await fill();
      } catch (error) {
        // A full disk, another process in a long transaction: the jobs stay where they are until it has passed.
        options.onTrouble(error);
        lease.commitFailed();
        nextLookAtMs = -Infinity;
        await rest(TROUBLE_MS);
      }
      if (!draining.signal.aborted && (!found || batch.length > 0 || busy >= options.concurrency))
        await rest(POLL_MS);
    }
  }

  /** Until a slot is free with nothing to fill it, or for so long. */
  async function rest(ms: number): Promise<void> {
    const woken = new AbortController();
    // Without a reason of its own, an abort makes an error each time.
    wake = () => woken.abort("woken");
    await clock.sleep(ms, woken.signal);
    wake = () => undefined;
  }

  /** Somebody took this worker for dead: what it holds is handled elsewhere. */
  function loseEverything(): void {
    batch = [];
    for (const [job, abort] of running) abort.abort(new LeaseLost(job.id));
  }

  /** Claims a batch when the last one is used up. Answers whether there was anything. */
  async function fill(): Promise<boolean> {
    const free = options.concurrency - busy;
    // A suspect runs alone.
    const [first] = running.keys();
    if (batch.length > 0 || first?.suspect === true || isOnlyClaimed) return false;
    if (free <= 0) return splitAhead();
    if (!engine.look() && clock.monotonicMs() < nextLookAtMs) return false;
    const isAnyWaiting = claims.isAnyWaiting();
    nextLookAtMs = clock.monotonicMs() + (isAnyWaiting ? DUE_MS : NOTHING_DUE_MS);
    if (!isAnyWaiting && !claims.hasArrived()) {
      turns.othersHadTheirs();
      return false;
    }
    const limit = Math.max(free, batchLimit);
    const suspects = turns.isOthers() ? "later" : running.size > 0 ? "wait" : "now";
    const { only } = options;
    const { claimed, buried } = await lease.asWorker((worker) =>
      claims.claim({ nowMs: clock.nowMs(), worker, limit, room, suspects, only }),
    );
    for (const { handler, ...job } of buried) {
      options.onHandled({ ...job, handler: handler.name, attempt: 0, outcome: "dead", durationMs: 0 });
    }
    isOnlyClaimed = only !== undefined && claimed.length > 0;
    if (claimed.length < limit) turns.othersHadTheirs();
    else nextLookAtMs = -Infinity;
    return begin(claimed);
  }

  /** While handlers take their time, new events are split into jobs: so that none waits behind those of another handler. */
  async function splitAhead(): Promise<boolean> {
    if (clock.monotonicMs() - claimedAtMs < QUICK_MS || handlers.own().length < 2 || !claims.hasArrived())
      return false;
    await lease.asWorker((worker) =>
      claims.claim({ nowMs: clock.nowMs(), worker, limit: 0, room: () => 0, suspects: "later" }),
    );
    return false;
  }

  function begin(claimed: ClaimedJob[]): boolean {
    batch = [...claimed];
    claimedAtMs = clock.monotonicMs();
    startAll();
    return claimed.length > 0;
  }

  /** How many more jobs of a handler may be claimed, by its own limit. */
  function room(handler: KnownHandler): number {
    const most = handler.policy?.concurrency ?? 0;
    if (most >= options.concurrency) return Infinity;
    return most - held().filter((job) => job.handler.number === handler.number).length;
  }

  function startAll(): void {
    const had = batch.length;
    while (busy < options.concurrency && running.size < LARGEST_BATCH && !draining.signal.aborted) {
      const job = batch.shift();
      if (!job) break;
      start(job);
    }
    if (batch.length > 0) return;
    if (had > 0) fitBatch();
    if (busy < options.concurrency) wake();
  }

  /** Claims more at a time while handlers are quick, and no more than there are slots once they aren't. */
  function fitBatch(): void {
    const quick = clock.monotonicMs() - claimedAtMs < QUICK_MS;
    batchLimit = quick ? Math.min(batchLimit * 2, LARGEST_BATCH) : options.concurrency;
  }

  function start(job: ClaimedJob): void {
    const abort = new AbortController();
    running.set(job, abort);
    busy += 1;
    let holdsSlot = true;
    const release = (): void => {
      if (holdsSlot) busy -= 1;
      holdsSlot = false;
      if (draining.signal.aborted) wake();
      else startAll();
    };
    void attempts
      .run(job, abort.signal, release)
      .catch(options.onTrouble)
      .finally(() => {
        running.delete(job);
        if (job.suspect) turns.suspectHadIts();
        // What has ended may be due again, or let another one go.
        nextLookAtMs = -Infinity;
        release();
      });
  }

  async function drain(graceMs: number, failed: readonly FailedJob[] = []): Promise<void> {
    failedJobs = failed;
    draining.abort();
    wake();
    await loop;
    const endAtMs = clock.monotonicMs() + graceMs;
    await finishUntil(endAtMs - ABORTED_MS);
    for (const abort of running.values()) abort.abort(new Error(SHUTTING_DOWN));
    await finishUntil(endAtMs);
    const report = await transactions.run(() => {
      lease.leave();
      return attempts.giveUp(held());
    });
    report();
  }

  /** Waits for what is running, and keeps its claims alive meanwhile. */
  async function finishUntil(endAtMs: number): Promise<void> {
    while (running.size > 0 && clock.monotonicMs() < endAtMs) {
      await lease.beat().catch(options.onTrouble);
      await rest(Math.max(0, Math.min(endAtMs, lease.nextBeatAtMs()) - clock.monotonicMs()));
    }
  }
}
