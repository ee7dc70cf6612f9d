import { within, type Clock } from "../clock.ts";
import {
  LeaseLost,
  type Claim,
  type FailedJob,
  type HandlerDatabase,
  type ProcessOptions,
  type Processor,
  type Steps,
} from "../engine.ts";
import { createAttempts, TROUBLE_MS } from "./attempts.ts";
import type { Ending } from "./ending.ts";
import { createTurns } from "./turns.ts";

/** A claimed job: what its handler is told of it, and whether its worker vanished the last time. */
export type Job = Omit<Claim, "signal" | "atomically" | "steps"> & { suspect: boolean };

/** What the loop tells the database behind it. */
export type Loop<Held extends Job> = {
  held: () => Held[];
  /** These claims were lost: another worker took this one for gone. */
  lose: (lost: readonly Held[]) => void;
  /** How many more jobs of this handler may run here, by its own limit. */
  room: (handler: string) => number;
  wake: () => void;
  turns: ReturnType<typeof createTurns>;
};

/** What there is room for. */
export type Asked = {
  /** Slots in which a job can begin at once. */
  free: number;
  /** Whether jobs that were claimed before still wait for slots: then no more are wanted. */
  isAhead: boolean;
  /** Jobs that have ended since more were last wanted. */
  ended: number;
};

/** What a database does for the loop. What a verb writes is committed when it resolves. */
export type JobStore<Held extends Job> = {
  /** How long to rest when there was nothing to claim, if nothing wakes the loop. */
  restMs: number;
  /** How long what was claimed ahead may lie while nothing ends, before other workers may have it. */
  aheadMs: number;
  /** Called often: keeps this worker's lease. On SQLite, also takes back what vanished workers held. */
  beat: () => Promise<void>;
  /** The last write may have been committed though it failed: the next beat compares what is held. */
  doubt: () => void;
  claim: (asked: Asked) => Promise<Held[]>;
  /**
   * Commits what `work` writes together with `done`; calls `onWritten` when only a commit is missing that others share.
   * Rejects, and commits neither, once a signal is aborted or the claim is another's.
   */
  transact: <Result>(
    job: Held,
    given: { signal: AbortSignal; lost: AbortSignal; onWritten: () => void },
    work: (db: HandlerDatabase) => Promise<Result>,
  ) => Promise<Result>;
  steps: (job: Held) => Steps;
  /** Ends a claim; without an ending the job goes back, and the attempt doesn't count. False when the claim was lost. */
  settle: (job: Held, ending: Ending | undefined) => Promise<boolean>;
  /** Whether a transaction was committed whose answer was lost. */
  isCompleted?: (job: Held) => Promise<boolean>;
  /** Gives back whatever this worker still holds by the database, and takes it from the list of workers. */
  leave: () => Promise<void>;
};

/** Maximum number of jobs that have begun and whose end is not written down yet, unless there are more slots. */
const MOST_RUNNING = 512;

/** Time that a drain keeps for handlers whose signal was aborted, and then for the database to take their jobs back. */
const ABORTED_MS = 500;
const RETURN_TIMEOUT_MS = 1_000;

const SHUTTING_DOWN =
  "The receiver is shutting down: the job goes back to the inbox, and this attempt doesn't count.";

/**
 * The background loop of every engine: beat, claim, keep the slots busy, settle. It claims again as soon as what it has
 * is used up; new events, and jobs that end, wake it from its rest.
 */
export function createLoop<Held extends Job>(
  clock: Clock,
  options: ProcessOptions,
  connect: (loop: Loop<Held>) => JobStore<Held>,
): Omit<Processor, "query"> {
  const { concurrency } = options;
  const mostRunning = Math.max(concurrency, MOST_RUNNING);
  const turns = createTurns(clock.monotonicMs);
  const ready: Held[] = [];
  const running = new Map<Held, AbortController>();
  /** Slots that are taken. A job whose end is only to be written down has given its own back. */
  let busy = 0;
  let ended = 0;
  let isOnlyClaimed = false;
  /** When something was claimed, or ended. */
  let movedAtMs = -Infinity;
  let lastTrouble: unknown;
  let alarm = new AbortController();
  const draining = new AbortController();
  const held = (): Held[] => [...ready, ...running.keys()];
  const store = connect({ held, lose, room, wake, turns });
  const attempts = createAttempts(store, options, { clock, draining: draining.signal, trouble });
  const loop = runLoop();
  return { wake, drain };

  function wake(): void {
    // Without a reason, `abort` would make an Error each time.
    alarm.abort("woken");
  }

  async function runLoop(): Promise<void> {
    while (!draining.signal.aborted) {
      alarm = new AbortController();
      const restMs = await round().catch(trouble);
      if (restMs > 0 && !draining.signal.aborted) await clock.sleep(restMs, alarm.signal);
    }
  }

  /** A full disk, a server that is away: jobs stay where they are until it has passed. Answers how long to leave it alone. */
  function trouble(error: unknown): number {
    // Jobs that shared a commit fail with the same error: it is reported once.
    if (error !== lastTrouble) options.onTrouble(error);
    lastTrouble = error;
    store.doubt();
    return TROUBLE_MS;
  }

  /** Answers how long to rest. */
  async function round(): Promise<number> {
    await store.beat();
    // A suspect runs alone; what comes meanwhile is looked for when it has ended: then the others have their turn.
    if (isOnlyClaimed || held().some(({ suspect }) => suspect)) return store.restMs;
    if (clock.monotonicMs() - movedAtMs > store.aheadMs) await attempts.giveUp(ready.splice(0));
    const isAhead = ready.length > 0;
    const asked = { free: free(), isAhead, ended };
    if (!isAhead) ended = 0;
    const claimed = await store.claim(asked);
    if (claimed.length === 0) return store.restMs;
    isOnlyClaimed = options.only !== undefined;
    movedAtMs = clock.monotonicMs();
    ready.push(...claimed);
    begin();
    return free() > 0 ? 0 : store.restMs;
  }

  function free(): number {
    return Math.max(concurrency - busy - ready.length, 0);
  }

  function room(name: string): number {
    const most = options.handlers.find((handler) => handler.name === name)?.concurrency ?? 0;
    return most >= concurrency ? Infinity : most - held().filter(({ handler }) => handler === name).length;
  }

  function lose(lost: readonly Held[]): void {
    ready.push(...ready.splice(0).filter((job) => !lost.includes(job)));
    for (const job of lost) running.get(job)?.abort(new LeaseLost(job.id));
  }

  function begin(): void {
    while (busy < concurrency && running.size < mostRunning && !draining.signal.aborted) {
      const job = ready.shift();
      if (!job) break;
      start(job);
    }
    if (ready.length === 0 || draining.signal.aborted) wake();
  }

  function start(job: Held): void {
    const abort = new AbortController();
    running.set(job, abort);
    busy += 1;
    let holdsSlot = true;
    const release = (): void => {
      if (!holdsSlot) return;
      holdsSlot = false;
      busy -= 1;
      ended += 1;
      movedAtMs = clock.monotonicMs();
      begin();
    };
    void attempts
      .run(job, abort.signal, release)
      .catch(trouble)
      .finally(() => {
        running.delete(job);
        if (job.suspect) turns.suspectHadIts();
        release();
        // Jobs may have waited for this one to end: those with its key, of its handler, or a suspect.
        begin();
      });
  }

  async function drain(graceMs: number, failed: readonly FailedJob[] = []): Promise<void> {
    attempts.blame(failed);
    draining.abort("draining");
    wake();
    const endAtMs = clock.monotonicMs() + graceMs;
    // What is being claimed right now goes back with the rest.
    const returned = loop.then(async () => attempts.giveUp(ready.splice(0)));
    await within(graceMs, returned, clock);
    await finishUntil(endAtMs - ABORTED_MS);
    for (const abort of running.values()) abort.abort(new Error(SHUTTING_DOWN));
    await finishUntil(endAtMs);
    await within(RETURN_TIMEOUT_MS, attempts.giveUp([...running.keys()]), clock);
    running.clear();
    await returned;
    await store.leave();
  }

  /** Waits for what is running, and keeps its claims alive meanwhile. */
  async function finishUntil(endAtMs: number): Promise<void> {
    while (running.size > 0 && clock.monotonicMs() < endAtMs) {
      alarm = new AbortController();
      await store.beat().catch(options.onTrouble);
      await clock.sleep(Math.min(endAtMs - clock.monotonicMs(), TROUBLE_MS), alarm.signal);
    }
  }
}
