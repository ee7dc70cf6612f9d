import { within } from "../../clock.ts";
import {
  LEASE_MS,
  type FailedJob,
  type JobHandler,
  type Processor,
  type ProcessOptions,
} from "../../engine.ts";
import { createTurns } from "../turns.ts";
import { SUSPECT } from "./boss.ts";
import { NoLease, share, type Claims, type Look } from "./claims.ts";
import type { Pool } from "./connection.ts";
import { queryOnce, type Means } from "./handler-transaction.ts";
import { createHands } from "./hands.ts";
import { createSettling, type ClaimedJob, type Jobs } from "./jobs.ts";
import { createListener } from "./listener.ts";
import type { Offers } from "./offers.ts";

const HEARTBEAT_MS = LEASE_MS / 3;

/** Jobs claimed beyond those that can be begun at once, when they end faster than a statement takes. */
const MOST_AHEAD = 500;

/** How long a drain waits for claims to be returned. */
const RETURN_TIMEOUT_MS = 1_000;

const WOKEN = "woken";

/**
 * The background loop: keep the lease, look, take over from the dead, claim, handle, settle. Each round answers how long
 * it may sleep; a notification or the end of a handling cuts that short.
 */
export function createProcessor(
  engine: Means & {
    jobs: Jobs & Claims & Offers;
    /** How often to look for what no notification tells: retries that have become due, claims of workers that vanished. */
    lookMs: number;
    /** Where to hear of what was stored; no `channel` where nothing is said. */
    listening: Pool;
    channel: string | null;
  },
  options: ProcessOptions,
): Processor {
  const { jobs, clock, lookMs } = engine;
  const { workerId: worker, concurrency } = options;
  const turns = createTurns(clock.monotonicMs);
  let predecessors = options.predecessors ?? [];
  let onlyAsked = false;
  let turn = 0;
  let endedSinceClaim = 0;
  /** When something was claimed, or ended. */
  let lastMoveMs = Number.NEGATIVE_INFINITY;
  let extendAtMs = Number.NEGATIVE_INFINITY;
  let draining = false;
  const empty = new AbortController();
  const stopped = new AbortController();
  const settle = createSettling(jobs, { clock, stopped: stopped.signal, onTrouble: options.onTrouble });
  const hands = createHands(engine, options, { settle, freed, stored });
  const listener = createListener(engine.listening, engine.channel, {
    onHeard: wake,
    onBroken: () => (doubt(), wake()),
  });
  let alarm = new AbortController();
  let lastRound: Promise<number> = Promise.resolve(0);
  const loop = runLoop();
  let drained: Promise<void> | undefined;
  return {
    wake,
    drain: async (graceMs, failed = []) => (drained ??= drain(graceMs, failed)),
    query: async (sql, parameters) => queryOnce(engine, sql, parameters),
  };

  function wake(): void {
    // Given a reason, `abort` need not make an error each time.
    alarm.abort(WOKEN);
  }

  /** What was claimed or settled last may have been lost: the next round asks what is held. */
  function doubt(): void {
    extendAtMs = Number.NEGATIVE_INFINITY;
  }

  function freed({ suspect }: ClaimedJob): void {
    endedSinceClaim += 1;
    lastMoveMs = clock.monotonicMs();
    if (suspect) turns.suspectHadIts();
    claimMore();
  }

  /** Jobs may have waited for this one to end: those with its key, of its handler, or a suspect, which runs alone. */
  function stored(): void {
    claimMore();
    if (draining && hands.size() === 0) empty.abort();
  }

  /** As long as something is left of what was claimed, there is no room for more. */
  function claimMore(): void {
    if (hands.waiting() === 0) wake();
  }

  async function runLoop(): Promise<void> {
    while (!stopped.signal.aborted) {
      alarm = new AbortController();
      let sleepMs = lookMs;
      try {
        lastRound = round();
        sleepMs = await lastRound;
      } catch (error) {
        if (!(error instanceof NoLease)) options.onTrouble(error);
        doubt();
      }
      if (sleepMs > 0) await clock.sleep(sleepMs, alarm.signal);
    }
  }

  async function round(): Promise<number> {
    listener.keep();
    await keepLease();
    // A suspect runs alone, and what comes meanwhile is looked for when it has ended: then the others have their turn.
    if (draining || hands.hasSuspect()) return lookMs;
    if (options.only !== undefined) return claimOnly(options.only);
    const look = await jobs.look(worker, options.handlers);
    if (look.expired || predecessors.length > 0) {
      await jobs.takeOver(worker, predecessors, options.handlers);
      predecessors = [];
      return 0;
    }
    await jobs.offer(look);
    await fit(look);
    // Handlers have become slow: other workers may begin what was claimed ahead.
    if (clock.monotonicMs() - lastMoveMs > lookMs) await hands.returnWaiting();
    const sleepMs = await fill(look);
    return look.waiting || look.misfits.length > 0 ? 0 : sleepMs;
  }

  async function keepLease(): Promise<void> {
    if (clock.monotonicMs() < extendAtMs) return;
    const nextMs = clock.monotonicMs() + HEARTBEAT_MS;
    const strays = hands.compare(await jobs.keep(worker));
    await jobs.settle(strays.map((claim) => ({ ...claim, state: "returned" })));
    extendAtMs = nextMs;
  }

  async function fit({ misfits }: Look): Promise<void> {
    for (const handler of options.handlers.filter(({ name }) => misfits.includes(name))) {
      for (const one of await jobs.fit(handler))
        options.onHandled({ ...one, handler: handler.name, attempt: 0, outcome: "dead", durationMs: 0 });
    }
  }

  /** Claims for free slots, and answers how long to wait for more. */
  async function fill(look: Look): Promise<number> {
    const free = hands.free();
    if (free === 0 && hands.waiting() > 0) return lookMs;
    turn += 1;
    const due = options.handlers.flatMap((handler) =>
      look.due.filter((one) => one.handler === handler.name).map(({ priority }) => ({ handler, priority })),
    );
    const others = due.filter(({ priority }) => priority !== SUSPECT);
    if (others.length === 0) turns.othersHadTheirs();
    const suspects = due.filter(({ priority }) => priority === SUSPECT);
    const suspect = turns.isOthers() ? undefined : suspects[turn % suspects.length];
    if (suspect && !hands.areEmpty()) return lookMs;
    const slots = free + Math.min(endedSinceClaim, MOST_AHEAD);
    const room = (handler: JobHandler): number => roomOf(handler, free);
    const wanted = suspect ? [{ ...suspect, limit: 1 }] : share(others, { slots, room, turn });
    endedSinceClaim = 0;
    const claimed = wanted.length === 0 ? [] : await jobs.claim(worker, hands.claims(), wanted);
    if (claimed.length > 0) lastMoveMs = clock.monotonicMs();
    hands.take(claimed);
    if (claimed.length > 0 && hands.free() > 0) return 0;
    return Math.min(lookMs, Math.max(look.limitedMs ?? lookMs, 1));
  }

  /** How many more of its jobs may be held: claimed ahead only where nothing limits them. */
  function roomOf(handler: JobHandler, free: number): number {
    if (handler.concurrency >= concurrency && handler.rateLimit === undefined) return Infinity;
    return Math.min(free, handler.concurrency - hands.of(handler));
  }

  async function claimOnly({ handler, id }: { handler: string; id: string }): Promise<number> {
    if (onlyAsked) return lookMs;
    const claimed = await jobs.claimOnly(worker, handler, id);
    onlyAsked = claimed.length > 0;
    hands.take(claimed);
    return lookMs;
  }

  async function drain(graceMs: number, failed: readonly FailedJob[]): Promise<void> {
    draining = true;
    hands.close();
    const grace = clock.sleep(graceMs, empty.signal);
    // What is being claimed right now goes back with the rest.
    await Promise.race([lastRound.catch(() => 0), grace]);
    await Promise.race([hands.returnWaiting(), grace]);
    if (hands.size() > 0) await grace;
    await returnAll(failed);
    stopped.abort();
    wake();
    empty.abort();
    await loop;
    await returnAll([]);
    listener.stop();
    await jobs.resign(worker);
  }

  /** A database that is away is not waited for: the lease will run out. */
  async function returnAll(failed: readonly FailedJob[]): Promise<void> {
    await within(RETURN_TIMEOUT_MS, hands.returnAll(failed), clock);
  }
}
