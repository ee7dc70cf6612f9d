import { rejectWhenAborted } from "../../work/abort.ts";
import type Database from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import {
  LeaseLost,
  type Claim,
  type Handled,
  type HandlerDatabase,
  type Outcome,
  type ProcessOptions,
  type Processor,
} from "../../engine.ts";
import type { Exclusive } from "./exclusive.ts";
import { createHandlerDatabase } from "./handler-database.ts";
import { LEASE_MS, type ClaimedRow, type Work } from "./work.ts";

/** The longest sleep between two looks at the clock and the files: a suspended machine or another process is noticed. */
const POLL_MS = 250;

/** A handler's transaction holds the write lock of every other handler; it gets this long. */
const TRANSACTION_LIMIT_MS = 5_000;

type StoredEvent = { id: string; type: string; received_at_ms: number; body: Buffer };

const FIND_EVENT = `SELECT id, type, received_at_ms, body FROM events WHERE seq = ?`;

/**
 * The background loop: follow the inbox, take back expired leases, claim, handle, settle. Each round answers how long
 * it may sleep, and `wake` cuts that short; there is no other timer.
 */
export function createProcessor(
  engine: {
    db: Database.Database;
    inbox: Database.Database;
    work: Work;
    exclusive: Exclusive;
    clock: Clock;
    workerId: string;
  },
  options: ProcessOptions,
): Processor {
  const { db, work, exclusive, clock, workerId } = engine;
  const findEvent = engine.inbox.prepare<[number], StoredEvent>(FIND_EVENT);
  const running = new Map<ClaimedRow, Promise<void>>();
  const draining = new AbortController();
  let alarm = new AbortController();
  let suspectRunning = false;
  let nextExtensionAtMs = clock.monotonicMs() + LEASE_MS / 3;

  const loop = runLoop();
  return { wake, drain };

  function wake(): void {
    alarm.abort();
  }

  async function runLoop(): Promise<void> {
    while (!draining.signal.aborted) {
      alarm = new AbortController();
      let sleepMs = POLL_MS;
      try {
        sleepMs = await round();
      } catch (error) {
        // A full disk, another process in a long transaction: the events stay where they are until it has passed.
        options.onTrouble(error);
      }
      if (sleepMs > 0) await clock.sleep(sleepMs, AbortSignal.any([alarm.signal, draining.signal]));
    }
  }

  async function round(): Promise<number> {
    await extendLeases();
    const { claimed, more } = await exclusive(() => {
      const nowMs = clock.nowMs();
      const followed = work.follow();
      work.expire({ nowMs, maximumAttempts: options.maximumAttempts });
      return { claimed: claimFreeSlots(nowMs), more: followed > 0 };
    });
    for (const row of claimed) start(row);
    if (more && running.size < options.concurrency) return 0;
    // What is due already and was not claimed waits for a slot or for its object: the end of a handling wakes the loop.
    const untilDueMs = (work.nextDueAtMs() ?? 0) - clock.nowMs();
    return untilDueMs > 0 ? Math.min(POLL_MS, untilDueMs) : POLL_MS;
  }

  function claimFreeSlots(nowMs: number): ClaimedRow[] {
    const slots = options.concurrency - running.size;
    if (slots <= 0 || suspectRunning || draining.signal.aborted) return [];
    return work.claim({ nowMs, worker: workerId, slots, running: running.size });
  }

  async function extendLeases(): Promise<void> {
    if (clock.monotonicMs() < nextExtensionAtMs || running.size === 0) return;
    nextExtensionAtMs = clock.monotonicMs() + LEASE_MS / 3;
    await exclusive(() => {
      for (const row of running.keys()) work.extend(row, clock.nowMs());
    });
  }

  function start(row: ClaimedRow): void {
    if (row.crashes > 0) suspectRunning = true;
    const settled = run(row)
      .catch(options.onTrouble)
      .finally(() => {
        running.delete(row);
        if (row.crashes > 0) suspectRunning = false;
        wake();
      });
    running.set(row, settled);
  }

  async function run(row: ClaimedRow): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    const event = findEvent.get(row.seq);
    if (!event) throw new Error(`Event ${String(row.seq)} is claimed but not in the inbox file.`);

    let committed = false;
    const claim: Claim = {
      id: event.id,
      type: event.type,
      body: event.body,
      attempt: row.attempts,
      receivedAtMs: event.received_at_ms,
      atomically: (signal) => async (write) => {
        if (committed)
          throw new Error("atomically() commits the event together with its writes: call it once, last.");
        const result = await commitWithDone(row, event.id, signal, write);
        committed = true;
        return result;
      },
    };
    const outcome = await options.handle(claim);
    const stored = committed ? "done" : await settle(row, outcome);
    const error = "error" in outcome && !committed ? outcome.error : undefined;
    options.onHandled({
      id: event.id,
      type: event.type,
      attempt: row.attempts,
      outcome: stored,
      durationMs: clock.monotonicMs() - startedAtMs,
      ...(error === undefined ? {} : { error }),
    });
  }

  async function commitWithDone<Result>(
    row: ClaimedRow,
    id: string,
    signal: AbortSignal,
    write: (database: HandlerDatabase) => Promise<Result>,
  ): Promise<Result> {
    return exclusive(async () => {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TRANSACTION_LIMIT_MS)]);
      limit.throwIfAborted();
      const database = createHandlerDatabase(db, limit);
      try {
        const result = await Promise.race([write(database), rejectWhenAborted(limit)]);
        limit.throwIfAborted();
        if (!work.done(row, clock.nowMs())) throw new LeaseLost(id);
        return result;
      } finally {
        database.end();
      }
    });
  }

  async function settle(row: ClaimedRow, outcome: Outcome): Promise<Handled["outcome"]> {
    const written = await exclusive(() => write(row, outcome));
    return written.ok ? written.outcome : "lost";
  }

  function write(row: ClaimedRow, outcome: Outcome): { ok: boolean; outcome: Handled["outcome"] } {
    const nowMs = clock.nowMs();
    if (outcome.kind === "done") return { ok: work.done(row, nowMs), outcome: "done" };
    if (outcome.kind === "ignored") return { ok: work.ignore(row, nowMs), outcome: "ignored" };
    if (outcome.kind === "dead" || row.attempts >= options.maximumAttempts) {
      return { ok: work.bury(row, nowMs, outcome.error), outcome: "dead" };
    }
    const delayMs =
      outcome.retryAfterSeconds === undefined
        ? options.backoffMs(row.attempts)
        : outcome.retryAfterSeconds * 1_000;
    return { ok: work.fail(row, nowMs + delayMs, outcome.error), outcome: "failed" };
  }

  async function drain(graceMs: number): Promise<void> {
    draining.abort();
    await loop;
    const finished = Promise.allSettled(running.values());
    const waiting = new AbortController();
    await Promise.race([finished.then(() => waiting.abort()), clock.sleep(graceMs, waiting.signal)]);
    const left = [...running.keys()];
    if (left.length > 0) await exclusive(() => left.forEach((row) => work.giveBack(row)));
  }
}
