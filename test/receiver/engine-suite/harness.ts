import { expect, onTestFinished } from "vitest";
import { systemClock, type Clock } from "../../../receiver/clock.ts";
import type {
  Claim,
  Engine,
  Handled,
  JobHandler,
  Migration,
  NewEvent,
  Outcome,
  Processor,
  ProcessOptions,
} from "../../../receiver/engine.ts";
import { newEventId } from "../helpers/events.ts";
import { until } from "../helpers/until.ts";

/** One database for one test, which any number of engines may open at the same time. */
export type Backend = {
  open: (options: { clock: Clock }) => Promise<Engine>;
  /** For a database with a clock of its own: makes all that is dated in it older by this much. */
  age?: (ms: number) => Promise<void>;
  /** Rows of a handlers' table, read past the engine. */
  rows: (sql: string) => Promise<Record<string, unknown>[]>;
};

export type CreateBackend = () => Promise<Backend>;

/** An engine on a machine that can be suspended: its loop stands still, and what its handlers are at goes on. */
export type Machine = Engine & Suspension;

type Suspension = { suspend: () => Promise<void>; resume: () => void };

type Processing = Partial<
  Pick<ProcessOptions, "workerId" | "predecessors" | "concurrency" | "onTrouble" | "handlers" | "only">
> & { engine?: Machine };

const EFFECTS: readonly Migration[] = [
  {
    sqlite: "CREATE TABLE IF NOT EXISTS effects (event_id TEXT, attempt INTEGER)",
    postgres: "CREATE TABLE IF NOT EXISTS effects (event_id text, attempt bigint)",
  },
];

export const BACKOFF_MS = 60_000;

/** A handler of every type, except where `overrides` says otherwise. */
export function handler(overrides: Partial<JobHandler> = {}): JobHandler {
  return {
    name: "everything",
    types: "*",
    migrations: [],
    maximumAttempts: 5,
    backoffMs: () => BACKOFF_MS,
    concurrency: 1_000,
    rateLimit: undefined,
    key: undefined,
    ...overrides,
  };
}

/**
 * A database, an engine on it, and the means to open more of them, to let time pass and to drive handlers: one that takes
 * every event, with `policies`, unless a test names others.
 */
export async function setUp(createBackend: CreateBackend, policies: Partial<JobHandler> = {}) {
  const backend = await createBackend();
  const handled: Handled[] = [];
  let passedMs = 0;
  let workers = 0;

  const open = async (): Promise<Machine> => {
    const clock = suspendableClock(() => passedMs);
    const opened = await backend.open({ clock });
    let closed: Promise<void> | undefined;
    const close = async (): Promise<void> => (closed ??= opened.close());
    onTestFinished(async () => {
      clock.resume();
      await close();
    });
    return { ...opened, close, suspend: clock.suspend, resume: clock.resume };
  };

  const engine = await open();

  const processing = async (
    handle: (claim: Claim) => Promise<Outcome>,
    { engine: driven = engine, handlers = [handler(policies)], ...options }: Processing = {},
  ): Promise<Processor> => {
    workers += 1;
    const troubles: unknown[] = [];
    const processor = await driven.work.process({
      handlers: handlers.map((one, index) =>
        index === 0 ? { ...one, migrations: [...EFFECTS, ...one.migrations] } : one,
      ),
      // As the receiver's own does, it never throws.
      handle: async (claim) =>
        handle(claim).catch((error: unknown) => ({ kind: "failed", error: String(error) })),
      workerId: `worker ${String(workers)}`,
      concurrency: 4,
      onHandled: (one) => void handled.push(one),
      onTrouble: (error) => void troubles.push(error),
      ...options,
    });
    onTestFinished(async () => {
      driven.resume();
      await processor.drain(0);
      expect(troubles).toEqual([]);
    });
    return processor;
  };

  return {
    engine,
    open,
    handled,
    processing,
    rows: backend.rows,
    /**
     * Lets time pass, for the database as for everybody who looks at a clock. For the database first: who saw the new time
     * here and asked it how long to wait would hear of the old one there, and wait for all of it.
     */
    pass: async (ms: number): Promise<void> => {
      await backend.age?.(ms);
      passedMs += ms;
    },
    /** Resolves once this many attempts have ended. */
    ended: async (attempts: number): Promise<Handled[]> =>
      until(
        () => handled,
        ({ length }) => length >= attempts,
      ),
  };
}

/**
 * The real clock, ahead by what a test let pass. While it is suspended no sleep ends, whoever calls, and what passes
 * meanwhile shows only once it is resumed. `suspend` resolves once somebody sleeps: then a loop stands still.
 */
function suspendableClock(passedMs: () => number): Clock & Suspension {
  let standstill: (PromiseWithResolvers<void> & { sinceMs: number }) | undefined;
  let sleepers = 0;
  let asleep: PromiseWithResolvers<void> | undefined;
  const aheadMs = (): number => standstill?.sinceMs ?? passedMs();
  return {
    nowMs: () => systemClock.nowMs() + aheadMs(),
    monotonicMs: () => systemClock.monotonicMs() + aheadMs(),
    sleep: async (ms, signal) => {
      sleepers += 1;
      asleep?.resolve();
      await systemClock.sleep(ms, signal);
      await standstill?.promise;
      sleepers -= 1;
    },
    after: (ms, run) => systemClock.after(ms, () => void (standstill ? standstill.promise.then(run) : run())),
    suspend: async () => {
      standstill ??= { ...Promise.withResolvers<void>(), sinceMs: passedMs() };
      asleep = Promise.withResolvers();
      if (sleepers === 0) await asleep.promise;
    },
    resume: () => {
      standstill?.resolve();
      standstill = undefined;
    },
  };
}

/** An event that nothing else resembles, except where `overrides` says so. */
export function newEvent(overrides: Partial<NewEvent> = {}): NewEvent {
  const id = newEventId();
  return {
    id,
    type: "call.completed",
    objectId: null,
    source: "webhook",
    trace: null,
    body: Buffer.from(JSON.stringify({ id })),
    ...overrides,
  };
}

export function newEvents(count: number, overrides: Partial<NewEvent> = {}): NewEvent[] {
  return Array.from({ length: count }, () => newEvent(overrides));
}

/** Stores events that must be new. */
export async function accept(engine: Engine, events: readonly NewEvent[]): Promise<void> {
  const acceptances = events.map(() => ({ duplicate: false }));
  expect(await engine.intake.accept(events)).toEqual({ ok: true, acceptances });
}

/** A handler that writes one row within the event's transaction. */
export async function record(claim: Claim): Promise<Outcome> {
  await claim.atomically(claim.signal)(async (db) => {
    await db.query("INSERT INTO effects VALUES ($1, $2)", [claim.id, claim.attempt]);
  });
  return { kind: "done" };
}

export async function done(): Promise<Outcome> {
  return { kind: "done" };
}

/** A handler that never comes back, as long as its test lasts. */
export async function never(): Promise<Outcome> {
  return new Promise(() => undefined);
}

/** What a handler answers that does nothing but this. */
export async function outcomeOf(work: Promise<unknown>): Promise<Outcome> {
  return work.then(
    () => ({ kind: "done" }),
    (error: unknown) => ({ kind: "failed", error: String(error) }),
  );
}
