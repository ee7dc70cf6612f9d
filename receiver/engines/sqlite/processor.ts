import type { Clock } from "../../clock.ts";
import {
  LeaseLost,
  type Claim,
  type Handled,
  type ProcessOptions,
  type Processor,
  type RetryPolicy,
} from "../../engine.ts";
import { endingOf, handledAs } from "../ending.ts";
import type { ClaimedEvent, Claims } from "./claims.ts";
import type { HandlerTransaction } from "./handler-transaction.ts";
import type { Transactions } from "./transactions.ts";
import { BEAT_MS, type Workers } from "./workers.ts";

/** How often the files are looked at while there is nothing to do: it costs some microseconds. */
const POLL_MS = 20;

/** After trouble with the database, it is left alone for so long. */
const TROUBLE_MS = 250;

/** Claims that are fetched ahead of the slots: doubled as long as they are used up in this time, up to this many. */
const LARGEST_BATCH = 256;
const QUICK_MS = 50;

/** What a drain leaves to handlers whose signal was aborted, before their events are returned. */
const FAREWELL_MS = 500;

const SHUTTING_DOWN =
  "The receiver is shutting down: the event goes back to the inbox, and this attempt doesn't count.";

type Running = { event: ClaimedEvent; abort: AbortController };

/**
 * The background loop: beat, take back what vanished workers held, claim a batch, and keep the slots busy from it. It
 * claims again as soon as the batch is used up, and looks every 20 ms when there was nothing.
 */
export function createProcessor(
  engine: {
    claims: Claims;
    workers: Workers;
    transactions: Transactions;
    handlerTransaction: HandlerTransaction;
    clock: Clock;
    retry: RetryPolicy;
  },
  options: ProcessOptions,
): Processor {
  const { claims, workers, transactions, clock } = engine;
  const running = new Map<ClaimedEvent, Running>();
  /** Slots that are taken. An event that only waits for the common commit has given its own back. */
  let busy = 0;
  let batch: ClaimedEvent[] = [];
  let batchLimit = options.concurrency;
  let claimedAtMs = 0;
  let worker: number | undefined;
  let nextBeatAtMs = clock.monotonicMs();
  let suspectRunning = false;
  const draining = new AbortController();
  const held = (): ClaimedEvent[] => [...batch, ...running.keys()];
  let wake = (): void => undefined;

  const loop = runLoop();
  return { drain };

  async function runLoop(): Promise<void> {
    while (!draining.signal.aborted) {
      let found = false;
      try {
        await beat();
        found = await fill();
      } catch (error) {
        // A full disk, another process in a long transaction: the events stay where they are until it has passed.
        options.onTrouble(error);
        await rest(TROUBLE_MS);
      }
      if (!draining.signal.aborted && (!found || batch.length > 0 || busy >= options.concurrency))
        await rest(POLL_MS);
    }
  }

  /** Until a slot is free with nothing to fill it, or for so long. */
  async function rest(ms: number): Promise<void> {
    const patience = new AbortController();
    // Without a reason of its own, an abort makes an error each time.
    wake = () => patience.abort("woken");
    await clock.sleep(ms, patience.signal);
    wake = () => undefined;
  }

  async function beat(): Promise<void> {
    if (clock.monotonicMs() < nextBeatAtMs) return;
    nextBeatAtMs = clock.monotonicMs() + BEAT_MS;
    const lost = await transactions.run(() => {
      const mine = worker;
      worker = mine !== undefined && workers.beat(mine) ? mine : workers.register(options.workerId);
      claims.returnUnheard(worker, new Set(held().map(({ seq }) => seq)));
      for (const gone of workers.vanished(worker, options.isGone)) {
        claims.takeBack(gone, clock.nowMs(), "expired");
        workers.remove(gone);
      }
      return mine !== undefined && mine !== worker;
    });
    if (lost) loseEverything();
  }

  /** Somebody took this worker for dead: what it holds is handled elsewhere. */
  function loseEverything(): void {
    batch = [];
    for (const { event, abort } of running.values()) abort.abort(new LeaseLost(event.id));
  }

  /** Claims a batch when the last one is used up. Answers whether there was anything. */
  async function fill(): Promise<boolean> {
    const free = options.concurrency - busy;
    const number = worker;
    if (batch.length > 0 || free <= 0 || suspectRunning || number === undefined) return false;
    const limit = Math.max(free, batchLimit);
    const claimed = await transactions.run(() =>
      claims.claim({ nowMs: clock.nowMs(), worker: number, limit, running: running.size }),
    );
    batch = claimed;
    claimedAtMs = clock.monotonicMs();
    startAll();
    return claimed.length > 0;
  }

  function startAll(): void {
    let next = 0;
    while (busy < options.concurrency && running.size < LARGEST_BATCH && !draining.signal.aborted) {
      const event = batch[next];
      if (!event) break;
      next += 1;
      start(event);
    }
    if (next > 0) batch = batch.slice(next);
    if (batch.length > 0) return;
    if (next > 0) fitBatch();
    if (busy < options.concurrency) wake();
  }

  /** Claims more at a time while handlers are quick, and no more than there are slots once they aren't. */
  function fitBatch(): void {
    const quick = clock.monotonicMs() - claimedAtMs < QUICK_MS;
    batchLimit = quick ? Math.min(batchLimit * 2, LARGEST_BATCH) : options.concurrency;
  }

  function start(event: ClaimedEvent): void {
    const mine = { event, abort: new AbortController() };
    running.set(event, mine);
    busy += 1;
    let holdsSlot = true;
    const release = (): void => {
      if (holdsSlot) busy -= 1;
      holdsSlot = false;
      if (draining.signal.aborted) wake();
      else startAll();
    };
    if (event.crashes > 0) suspectRunning = true;
    void run(mine, release)
      .catch(options.onTrouble)
      .finally(() => {
        running.delete(event);
        if (event.crashes > 0) suspectRunning = false;
        release();
      });
  }

  async function run({ event, abort }: Running, release: () => void): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    const { id, type, body, receivedAtMs, attempts: attempt } = event;
    const { atomically, committed } = engine.handlerTransaction(event, release);
    const claim: Claim = { id, type, body, attempt, receivedAtMs, signal: abort.signal, atomically };
    const outcome = await options.handle(claim);
    const report = (as: Handled["outcome"], error: string | null = null): void => {
      const durationMs = clock.monotonicMs() - startedAtMs;
      options.onHandled({ id, type, attempt, outcome: as, durationMs, ...(error === null ? {} : { error }) });
    };
    if (committed()) return report("done");
    // A drain gives it back; what was lost cannot be given.
    const ending = endingOf(attempt, outcome, engine.retry);
    const written = abort.signal.aborted
      ? await writeDown(() => (claims.return(event) ? "returned" : undefined))
      : await writeDown(() => (claims.settle(event, ending, clock.nowMs()) ? handledAs(ending) : undefined));
    // The commit that the handler's writes share with others' may come after its time was up.
    if (written === undefined && committed()) return report("done");
    // One that failed, and yet came about, is lost with the reason why.
    if (written !== "returned") report(written ?? "lost", ending.error);
  }

  /**
   * Writes until it succeeds: the claim of a worker that lives is taken back by nobody, so an end that was not written
   * down would be none. A drain waits no longer; what it cannot return is taken from a worker that is gone.
   */
  async function writeDown<Result>(statements: () => Result): Promise<Result> {
    for (;;) {
      try {
        return await transactions.run(statements);
      } catch (error) {
        if (draining.signal.aborted) throw error;
        options.onTrouble(error);
        await clock.sleep(TROUBLE_MS, draining.signal);
      }
    }
  }

  async function drain(graceMs: number): Promise<void> {
    draining.abort();
    wake();
    await loop;
    const endAtMs = clock.monotonicMs() + graceMs;
    await finishUntil(endAtMs - FAREWELL_MS);
    for (const { abort } of running.values()) abort.abort(new Error(SHUTTING_DOWN));
    await finishUntil(endAtMs);
    const number = worker;
    await transactions.run(() => {
      for (const event of held()) claims.return(event);
      if (number !== undefined) workers.remove(number);
    });
  }

  /** Waits for what is running, and keeps its claims alive meanwhile. */
  async function finishUntil(endAtMs: number): Promise<void> {
    while (running.size > 0 && clock.monotonicMs() < endAtMs) {
      await beat().catch(options.onTrouble);
      await rest(Math.max(0, Math.min(endAtMs, nextBeatAtMs) - clock.monotonicMs()));
    }
  }
}
