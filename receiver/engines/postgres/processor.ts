import type { Clock } from "../../clock.ts";
import {
  LeaseLost,
  type Claim,
  type Processor,
  type ProcessOptions,
  type RetryPolicy,
} from "../../engine.ts";
import { endingOf, handledAs } from "../ending.ts";
import type { ClaimedEvent, Claims, Settlement } from "./claims.ts";
import type { Pool } from "./connection.ts";
import { createHandlerTransaction } from "./handler-transaction.ts";
import { createLease } from "./lease.ts";
import { createSettling } from "./settling.ts";
import type { Spoken } from "./spoken.ts";
import type { Trigger } from "./trigger.ts";

/** Events claimed beyond those that can be begun at once, when they end faster than a statement takes. */
const MOST_AHEAD = 500;

/** Of a drain, what returning claims may take. */
const RETURN_TIMEOUT_MS = 1_000;

const FORGOTTEN =
  "The handler ended before its atomically() did, so nothing was written: it has to await atomically().";

const WOKEN = "woken";

type Held = { event: ClaimedEvent; over: AbortController; begun: boolean };

/**
 * The background loop: keep the lease, take over from the dead, claim, handle, settle. Each round answers how long it
 * may sleep; a job of graphile-worker or the end of a handling cuts that short.
 */
export function createProcessor(
  engine: {
    claims: Claims;
    pool: Pool;
    spoken: Spoken;
    clock: Clock;
    retry: RetryPolicy;
    /** How often to look for what nobody tells: retries that have become due, the claims of the dead. */
    lookMs: number;
    startTrigger: (wake: () => void, onTrouble: (error: unknown) => void) => Promise<Trigger>;
  },
  options: ProcessOptions,
): Processor {
  const { claims, clock, retry, lookMs } = engine;
  const { workerId: worker, concurrency } = options;
  const means = { pool: engine.pool, spoken: engine.spoken, claims, clock, worker };
  /** What we know we hold, by its seq: to be begun, running, or being settled. */
  const held = new Map<number, Held>();
  const ready: Held[] = [];
  let running = 0;
  let endedSinceClaim = 0;
  /** An event whose worker vanished: claimed, to be begun when nothing else runs, and running until it is undefined. */
  let suspect: Held | undefined;
  let first: "new" | "retries" = "retries";

  let lookAtMs = 0;
  let endedSinceLook = 0;
  let draining = false;
  const empty = new AbortController();
  const stopped = new AbortController();
  const settle = createSettling({ ...means, stopped: stopped.signal, onTrouble: options.onTrouble });
  const lease = createLease({
    ...means,
    startTrigger: async () => engine.startTrigger(wake, options.onTrouble),
  });
  let alarm = new AbortController();
  let lastRound: Promise<number> = Promise.resolve(0);
  const loop = runLoop();
  let drained: Promise<void> | undefined;
  return { drain: async (graceMs) => (drained ??= drain(graceMs)) };

  function wake(): void {
    // Without a reason of its own, an abort makes an error each time.
    alarm.abort(WOKEN);
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
    await keepLease();
    const looks = clock.monotonicMs() >= lookAtMs;
    if (looks) {
      lookAtMs = clock.monotonicMs() + lookMs;
      await claims.expire(worker, options.isGone);
      await passOn();
    }
    const claimed = await fill(looks);
    return claimed ? 0 : lookMs;
  }

  /** What was claimed ahead of handlers that have become slow is for others to begin. */
  async function passOn(): Promise<void> {
    if (endedSinceLook === 0) await giveBack(ready.splice(0));
    endedSinceLook = 0;
  }

  async function keepLease(): Promise<void> {
    if (await lease.keep([...held.keys()])) return;
    // What we held is theirs; what we claimed since is put back by the first extension.
    for (const lost of held.values()) forget(lost, new LeaseLost(lost.event.id));
  }

  /** Claims for free slots, and answers whether there may be more. */
  async function fill(looks: boolean): Promise<boolean> {
    begin();
    if (draining || suspect !== undefined) return false;
    const free = concurrency - running - ready.length;
    if (free <= 0 && ready.length > 0) return false;
    const limit = Math.max(free, 0) + Math.min(endedSinceClaim, MOST_AHEAD);
    if (limit === 0) return false;
    endedSinceClaim = 0;
    first = first === "new" ? "retries" : "new";
    const events = await claims.claim(worker, limit, first);
    for (const event of events) ready.push(hold(event));
    if (looks) await claimSuspect();
    begin();
    return events.length > 0 && running < concurrency;
  }

  /** After each there is a turn for the others, so that many of them don't hold up everything. */
  async function claimSuspect(): Promise<void> {
    const event = await claims.claimSuspect(worker);
    if (event) suspect = hold(event);
  }

  function hold(event: ClaimedEvent): Held {
    const one = { event, over: new AbortController(), begun: false };
    held.set(event.seq, one);
    return one;
  }

  function begin(): void {
    // What a claim brings after the drain began is returned.
    if (draining || suspect?.begun === true) return;
    while (running < concurrency) {
      const next = ready.shift();
      if (!next) break;
      start(next);
    }
    if (suspect !== undefined && running === 0) start(suspect);
  }

  function start(one: Held): void {
    if (!held.has(one.event.seq)) return;
    one.begun = true;
    running += 1;
    run(one).catch(options.onTrouble);
  }

  async function run(one: Held): Promise<void> {
    const { event, over } = one;
    const startedAtMs = clock.monotonicMs();
    const transaction = createHandlerTransaction(means, event, over.signal);
    const claim: Claim = {
      id: event.id,
      type: event.type,
      body: event.body.toString("utf8"),
      attempt: event.attempts,
      receivedAtMs: event.receivedAtMs,
      signal: over.signal,
      atomically: transaction.atomically,
    };
    let outcome = await options.handle(claim);
    const committed = await transaction.end();
    if (committed === "forgotten") outcome = { kind: "failed", error: FORGOTTEN };
    running -= 1;
    endedSinceClaim += 1;
    endedSinceLook += 1;
    if (suspect === one) {
      suspect = undefined;
      lookAtMs = 0;
    }
    begin();
    // As long as something is left of what was claimed, there is no room for more.
    if (ready.length === 0 || lookAtMs === 0) wake();

    if (committed === "committed") outcome = { kind: "done" };
    const { seq, token, attempts } = event;
    const ending = endingOf(attempts, outcome, retry);
    const stored = committed === "committed" || (await settle({ seq, token, ...ending }));
    if (held.get(event.seq) === one) held.delete(event.seq);
    if (draining && held.size === 0) empty.abort();
    options.onHandled({
      id: event.id,
      type: event.type,
      attempt: event.attempts,
      outcome: stored ? handledAs(ending) : "lost",
      durationMs: clock.monotonicMs() - startedAtMs,
      ...(ending.error === null ? {} : { error: ending.error }),
    });
  }

  async function drain(graceMs: number): Promise<void> {
    draining = true;
    const grace = clock.sleep(graceMs, empty.signal);
    // What is being claimed right now goes back with the rest.
    await Promise.race([lastRound.catch(() => 0), grace]);
    const unbegun = suspect?.begun === false ? [...ready.splice(0), suspect] : ready.splice(0);
    await Promise.race([giveBack(unbegun), grace]);
    if (held.size > 0) await grace;
    await giveAllBack();
    stopped.abort();
    wake();
    empty.abort();
    await loop;
    await giveAllBack();
    await lease.resign();
  }

  /** A database that is away is not waited for: the lease will run out. */
  async function giveAllBack(): Promise<void> {
    const giving = new AbortController();
    const given = giveBack([...held.values()]).finally(() => giving.abort());
    await Promise.race([given, clock.sleep(RETURN_TIMEOUT_MS, giving.signal)]);
  }

  async function giveBack(some: readonly Held[]): Promise<void> {
    const settlements = some.map(({ event: { seq, token } }): Settlement => {
      return { seq, token, state: "pending", error: null, delayMs: 0, uncounted: true };
    });
    for (const one of some) forget(one, new Error("The receiver is shutting down."));
    await Promise.all(settlements.map(settle));
  }

  function forget({ event, over }: Held, reason: Error): void {
    held.delete(event.seq);
    over.abort(reason);
  }
}
