import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { systemClock, type Clock } from "../clock.ts";
import { loadConfig } from "../config.ts";
import { parseEnvelope } from "../intake/inbox.ts";
import { createLog } from "../operations/log.ts";
import { createCleaner, secretsOf } from "../operations/present.ts";
import type { RestClient } from "../operations/rest-client.ts";
import { openStore } from "../store/open.ts";
import type { HandlerDatabase, InboxJob, NewEvent } from "../store/port.ts";
import type { Handler } from "./handler.ts";
import type { Ended } from "./messages.ts";
import { startWorker } from "./worker.ts";

/** How an attempt ended. Without an attempt: `held` means that the job waits behind an earlier one with its key. */
export type BenchResult = {
  outcome: Ended["outcome"] | "held" | "ignored" | "duplicate";
  /** From 1; 0 without an attempt. */
  attempt: number;
  error?: string;
  /** Seconds until the next attempt, if there will be one. */
  nextAttemptInSeconds?: number;
};

export type HandlerBench = {
  /** Stores an event as if the service had sent it. Resolves when its first attempt has ended, or when none starts now. */
  run: (event: object) => Promise<BenchResult>;
  /** Moves the clock. Resolves when the attempts that became due have ended. */
  advance: (seconds: number) => Promise<BenchResult[]>;
  /** The handler's job of this event. */
  job: (eventId: string) => Promise<InboxJob | undefined>;
  /** Rows of the handler's tables, or of any other table it can read. */
  rows: HandlerDatabase["query"];
  /** Everything the handler has logged, as it is printed. */
  logs: Record<string, unknown>[];
  close: () => Promise<void>;
};

/**
 * Runs one handler with the receiver's own store, policies, rules and log, on a database of its own (a new SQLite file, or
 * `databaseUrl`). Its clock starts at `now` and stands still until it is moved.
 */
export async function createHandlerBench<Services>(
  handler: Handler<Services>,
  options: {
    services?: Services;
    api?: RestClient;
    databaseUrl?: string;
    /** Settings of the receiver by their variables, such as MAX_ATTEMPTS. */
    environment?: Readonly<Record<string, string | undefined>>;
    /** A date, or its text, such as "2026-03-01T12:00:00Z". Default: now. */
    now?: string | Date;
  } = {},
): Promise<HandlerBench> {
  const folder = await mkdtemp(join(tmpdir(), "handler-bench-"));
  const url = options.databaseUrl || `sqlite:${join(folder, "receiver.db")}`;
  const loaded = loadConfig({ ...options.environment, DATABASE_URL: url }, { needsSecret: false });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { config } = loaded;
  const secrets = secretsOf(config);
  const now = new Date(options.now ?? systemClock.nowMs());
  if (Number.isNaN(now.getTime())) throw new RangeError(`now is not a date: ${String(options.now)}`);
  const clock = benchClock(now.getTime());
  const logs: HandlerBench["logs"] = [];
  const write = (line: string): void => void logs.push(lineSchema.parse(JSON.parse(line)));
  const store = await openStore({ ...config, clock, isWorker: true, onFatal: console.error });
  const ended: Ended[] = [];
  let next = Promise.withResolvers<void>();
  const worker = await startWorker({
    store,
    handlers: [handler],
    services: options.services,
    api: options.api,
    config,
    clock,
    random: () => 0,
    clean: createCleaner(secrets),
    log: createLog({ level: "debug", destination: { write }, secrets }),
    onEnded: (one) => {
      ended.push(one);
      next.resolve();
      next = Promise.withResolvers();
    },
    // The receiver would end its process here.
    onStuck: () => undefined,
  });

  const job: HandlerBench["job"] = async (id) =>
    (await store.ledger.find(id))?.jobs.find(({ handler: name }) => name === handler.name);

  /** Waits until none of these jobs is running or due. */
  const settle = async (list: () => Promise<InboxJob[]>): Promise<void> => {
    for (;;) {
      const { promise } = next;
      if (!(await list()).some(isOpen)) return;
      worker.wake();
      await promise;
    }
  };
  const isOpen = ({ state, held, nextAttemptAtMs }: InboxJob): boolean =>
    state === "running" || (state === "waiting" && !held && (nextAttemptAtMs ?? 0) <= clock.nowMs());

  const resultOf = async ({ id, outcome, attempt, error }: Ended): Promise<BenchResult> => {
    const nextAtMs = (await job(id))?.nextAttemptAtMs ?? undefined;
    const seconds = nextAtMs && Math.ceil((nextAtMs - (await store.nowMs())) / 1_000);
    return { outcome, attempt, ...(error && { error }), ...(seconds && { nextAttemptInSeconds: seconds }) };
  };

  return {
    logs,
    job,
    rows: store.jobs.query,
    run: async (event) => {
      const stored = newEvent(event);
      const accepted = await store.intake.accept([stored]);
      if (!accepted.ok) throw new Error(accepted.detail);
      if (accepted.acceptances[0]?.duplicate !== false) return { outcome: "duplicate", attempt: 0 };
      await settle(async () => [(await job(stored.id)) ?? []].flat());
      const first = ended.find(({ id }) => id === stored.id);
      if (first) return resultOf(first);
      return { outcome: (await job(stored.id)) ? "held" : "ignored", attempt: 0 };
    },
    advance: async (seconds) => {
      const from = ended.length;
      const running = new Set(worker.running().map(({ id }) => id));
      clock.move(seconds * 1_000);
      await settle(async () => {
        const events = await store.ledger.list({ handler: handler.name }, { limit: 500, afterSeq: 0 });
        return events.flatMap(({ id, jobs }) => (running.has(id) ? [] : jobs));
      });
      return Promise.all(
        ended
          .slice(from)
          .filter(({ id }) => !running.has(id))
          .map(resultOf),
      );
    },
    close: async () => {
      await worker.drain(0);
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const lineSchema = z.record(z.string(), z.unknown());

function newEvent(event: object): NewEvent {
  const body = Buffer.from(JSON.stringify(event));
  const parsed = parseEnvelope(body);
  if (!parsed.ok) throw new Error(`This is not an event: ${parsed.message}`);
  const { id, type, objectId } = parsed;
  return { id: id.toLowerCase(), type, objectId, source: "webhook", body, envelope: event };
}

/** The time stands still until it is moved; timers fire when it is moved past them. */
function benchClock(startMs: number): Clock & { move: (ms: number) => void } {
  let movedMs = 0;
  const timers = new Set<{ atMs: number; run: () => void }>();
  return {
    nowMs: () => startMs + movedMs,
    monotonicMs: () => systemClock.monotonicMs() + movedMs,
    sleep: systemClock.sleep,
    after: (ms, run) => {
      const timer = { atMs: movedMs + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    move: (ms) => {
      movedMs += ms;
      for (const timer of timers) if (timer.atMs <= movedMs && timers.delete(timer)) timer.run();
    },
  };
}
