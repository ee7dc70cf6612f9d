import type { Clock } from "../../clock.ts";
import type { FailedJob, JobHandler, Processor, ProcessOptions } from "../../engine.ts";
import { createTurns } from "../turns.ts";
import type { Claims, Look } from "./claims.ts";
import type { Means } from "./handler-transaction.ts";
import { createHands } from "./hands.ts";
import type { ClaimedJob, Jobs } from "./jobs.ts";
import { createLease } from "./lease.ts";
import type { Listener } from "./listener.ts";
import type { Offers } from "./offers.ts";
import { createSettling } from "./settling.ts";
import { isOthers, oneSuspect, share, type Hungry } from "./share.ts";
import type { Workers } from "./workers.ts";

/** Jobs claimed beyond those that can be begun at once, when they end faster than a statement takes. */
const MOST_AHEAD = 500;

/** Of a drain, what returning claims may take. */
const RETURN_TIMEOUT_MS = 1_000;

const WOKEN = "woken";

/**
 * The background loop: keep the lease, look, take over from the dead, claim, handle, settle. Each round answers how long
 * it may sleep; a notification or the end of a handling cuts that short.
 */
export function createProcessor(
  engine: Means & {
    jobs: Jobs & Claims & Workers;
    offers: Offers;
    clock: Clock;
    /** How often to look for what nobody tells: retries that have become due, the claims of the dead. */
    lookMs: number;
    createListener: (on: { onHeard: () => void; onBroken: () => void }) => Listener;
  },
  options: ProcessOptions,
): Processor {
  const { jobs, offers, clock, lookMs } = engine;
  const { workerId: worker, concurrency } = options;
  const turns = createTurns(clock.monotonicMs);
  const limitedUntilMs = new Map<string, number>();
  let predecessors = options.predecessors ?? [];
  let onlyAsked = false;
  let turn = 0;
  let endedSinceClaim = 0;
  let endedSincePassOn = 0;
  let passOnAtMs = 0;
  let draining = false;
  const empty = new AbortController();
  const stopped = new AbortController();
  const settle = createSettling(jobs, { clock, stopped: stopped.signal, onTrouble: options.onTrouble });
  const hands = createHands(engine, options, { settle, turns, ended });
  const lease = createLease(jobs, { worker, clock });
  // What was claimed or settled last may have been lost with the server.
  const listener = engine.createListener({ onHeard: wake, onBroken: () => (lease.touch(), wake()) });
  let alarm = new AbortController();
  let lastRound: Promise<number> = Promise.resolve(0);
  const loop = runLoop();
  let drained: Promise<void> | undefined;
  return { wake, drain: async (graceMs, failed = []) => (drained ??= drain(graceMs, failed)) };

  function wake(): void {
    // Without a reason of its own, an abort makes an error each time.
    alarm.abort(WOKEN);
  }

  function ended({ isStored, handler }: { isStored: boolean; handler: JobHandler }): void {
    if (!isStored) {
      endedSinceClaim += 1;
      endedSincePassOn += 1;
      // As long as something is left of what was claimed, there is no room for more.
      if (hands.waiting() === 0) wake();
      return;
    }
    // What waited for this one, of its key or its handler, could not be claimed before.
    if (handler.key || handler.concurrency < concurrency) wake();
    if (draining && hands.size() === 0) empty.abort();
  }

  async function runLoop(): Promise<void> {
    while (!stopped.signal.aborted) {
      alarm = new AbortController();
      let sleepMs = lookMs;
      try {
        lastRound = round();
        sleepMs = await lastRound;
      } catch (error) {
        options.onTrouble(error);
        // What was claimed may not have reached us.
        lease.touch();
      }
      if (sleepMs > 0) await clock.sleep(sleepMs, alarm.signal);
    }
  }

  async function round(): Promise<number> {
    listener.keep();
    if (!(await lease.keep(hands.has))) hands.loseAll();
    if (draining) return lookMs;
    if (options.only !== undefined) return claimOnly(options.only);
    const names = options.handlers.map(({ name }) => name);
    const hadSuspect = hands.hasSuspect();
    const look = await jobs.look(worker, names);
    if (look.expired || predecessors.length > 0) {
      await jobs.takeOver(worker, predecessors, options.handlers);
      predecessors = [];
      return 0;
    }
    if (look.gone) await offers.ignoreGone();
    if (look.waiting) await offers.offerWaiting();
    await findKeys(look);
    await passOn();
    // What came while it ran has its turn now: that is looked for anew.
    if (hadSuspect && !hands.hasSuspect()) return 0;
    const sleepMs = await fill(look);
    return look.waiting || look.keyless.length > 0 ? 0 : sleepMs;
  }

  async function findKeys({ keyless }: Look): Promise<void> {
    for (const handler of options.handlers.filter(({ name }) => keyless.includes(name))) {
      const dead = { handler: handler.name, attempt: 0, outcome: "dead", durationMs: 0 } as const;
      for (const one of await offers.findKeys(handler)) options.onHandled({ ...one, ...dead });
    }
  }

  /** What was claimed ahead of handlers that have become slow is for others to begin. */
  async function passOn(): Promise<void> {
    if (clock.monotonicMs() < passOnAtMs) return;
    passOnAtMs = clock.monotonicMs() + lookMs;
    if (endedSincePassOn === 0) await hands.returnWaiting();
    endedSincePassOn = 0;
  }

  /** Claims for free slots, and answers how long to wait for more. */
  async function fill(look: Look): Promise<number> {
    hands.begin();
    if (hands.hasSuspect()) return lookMs;
    const free = hands.free();
    if (free === 0 && hands.waiting() > 0) return lookMs;
    turn += 1;
    const due = hungry(look, free);
    if (due.every(({ kinds }) => !isOthers(kinds))) turns.othersHadTheirs();
    const others = share(due, free + Math.min(endedSinceClaim, MOST_AHEAD), turn);
    const wanted = turns.isOthers() ? others : [...others, ...oneSuspect(due, turn)];
    endedSinceClaim = 0;
    const limited = wanted.filter(({ handler }) => handler.rateLimit !== undefined);
    const unlimited = wanted.filter(({ handler }) => handler.rateLimit === undefined);
    let claimed = unlimited.length > 0 ? take(await jobs.claim(worker, hands.claims(), unlimited)) : 0;
    for (const one of limited) {
      const taken = await jobs.claimLimited(worker, hands.claims(), one);
      if (taken.waitMs > 0) limitedUntilMs.set(one.handler.name, clock.monotonicMs() + taken.waitMs);
      claimed += take(taken.jobs);
    }
    hands.begin();
    if (claimed > 0 && !hands.isFull()) return 0;
    const waits = [...limitedUntilMs.values()].map((untilMs) => untilMs - clock.monotonicMs());
    return Math.min(lookMs, ...waits.filter((waitMs) => waitMs > 0));
  }

  /** The handlers of ours that have something due, and how many more of their jobs may be held. */
  function hungry({ due }: Look, free: number): Hungry[] {
    return options.handlers.flatMap((handler) => {
      const kinds = due.flatMap((one) => (one.handler === handler.name ? [one.kind] : []));
      if (kinds.length === 0 || (limitedUntilMs.get(handler.name) ?? 0) > clock.monotonicMs()) return [];
      const isAnyNumber = handler.concurrency >= concurrency && handler.rateLimit === undefined;
      const room = isAnyNumber ? Infinity : Math.min(free, handler.concurrency - hands.of(handler));
      return [{ handler, kinds, room }];
    });
  }

  function take(claimed: readonly ClaimedJob[] | undefined): number {
    // The lease was lost: the next round sees to that.
    if (claimed === undefined) lease.touch();
    hands.take(claimed ?? []);
    return claimed?.length ?? 0;
  }

  async function claimOnly({ handler, id }: { handler: string; id: string }): Promise<number> {
    if (onlyAsked) return lookMs;
    if (take(await jobs.claimOnly(worker, handler, id)) > 0) onlyAsked = true;
    hands.begin();
    return lookMs;
  }

  async function drain(graceMs: number, failed: readonly FailedJob[]): Promise<void> {
    draining = true;
    hands.close();
    const grace = clock.sleep(graceMs, empty.signal);
    // What is being claimed right now goes back with the rest.
    await Promise.race([lastRound.catch(() => 0), grace]);
    await Promise.race([hands.returnUnbegun(), grace]);
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
    const giving = new AbortController();
    const given = hands.returnAll(failed).finally(() => giving.abort());
    await Promise.race([given, clock.sleep(RETURN_TIMEOUT_MS, giving.signal)]);
  }
}
