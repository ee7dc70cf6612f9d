import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { systemClock, type Clock } from "../clock.ts";
import { loadConfig } from "../config.ts";
import type { Handled, HandlerDatabase, InboxEvent, InboxJob, NewEvent } from "../engine.ts";
import { openEngine } from "../engines/open.ts";
import { parseEnvelope } from "../intake/envelope.ts";
import { createLog } from "../operations/log.ts";
import type { RestClient } from "../operations/rest-client.ts";
import { secretsOf } from "../operations/secrets.ts";
import type { Handler } from "./handler.ts";
import { startLoop } from "./loop.ts";

/** How an attempt ended, or why an event had none. */
export type BenchResult = {
  outcome: Handled["outcome"] | "duplicate" | "ignored";
  /** From 1; 0 where there was none. */
  attempt: number;
  error?: string;
  /** Until the next attempt, where there is to be one. */
  nextAttemptInSeconds?: number;
};

export type HandlerBench = {
  /** Stores an event as if the service had sent it; resolves once its first attempt has ended. */
  run: (event: object) => Promise<BenchResult>;
  /** Moves the clock; resolves once the attempts that have become due by it have ended. */
  advance: (seconds: number) => Promise<BenchResult[]>;
  /** How the handler's job of this event stands. */
  job: (eventId: string) => Promise<InboxJob | undefined>;
  /** Rows of the handler's tables, or of anything else that it can see. */
  rows: HandlerDatabase["query"];
  /** What the handler has logged, as it would come out. */
  logs: Record<string, unknown>[];
  close: () => Promise<void>;
};

/**
 * Runs one handler as the receiver does: the same engine, policies, rules of `atomically` and log, on a database of its
 * own (a new SQLite file, or what `databaseUrl` names), with the services that it is given and a clock to move.
 */
export async function createHandlerBench<Services>(
  handler: Handler<Services>,
  options: {
    services?: Services;
    api?: RestClient;
    databaseUrl?: string;
    /** Settings of the receiver by their names, such as MAX_ATTEMPTS. */
    environment?: Readonly<Record<string, string | undefined>>;
  } = {},
): Promise<HandlerBench> {
  const directory = await mkdtemp(join(tmpdir(), "handler-bench-"));
  const url = options.databaseUrl ?? `sqlite:${join(directory, "receiver.db")}`;
  const loaded = loadConfig({ ...options.environment, DATABASE_URL: url }, { needsSecret: false });
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  const { config } = loaded;
  const secrets = secretsOf(config);
  const clock = benchClock();
  const logs: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void logs.push(lineSchema.parse(JSON.parse(line))) };
  const engine = await openEngine({ ...config, clock });
  /** Says by the event's id how its attempt has ended. */
  const ended = new EventEmitter<Record<string, [Handled]>>().setMaxListeners(0);
  const loop = await startLoop({
    engine,
    handlers: [handler],
    services: options.services,
    defaults: config,
    clock,
    random: () => 0,
    log: createLog({ level: "debug", destination, secrets }),
    api: options.api,
    secrets,
    onHandled: (handled) => ended.emit(handled.id, handled),
    // The receiver would replace its process.
    onStuck: (job) => ended.emit(job.id, { ...job, type: "", attempt: 0, outcome: "failed", durationMs: 0 }),
  });

  return {
    logs,
    run: async (event) => {
      const stored = newEvent(event);
      const attempt = attemptAt(stored.id);
      const accepted = await engine.intake.accept([stored]);
      if (!accepted.ok) throw new Error(accepted.detail);
      if (accepted.acceptances[0]?.duplicate !== false) return { outcome: "duplicate", attempt: 0 };
      loop.wake();
      if (handler.types !== "*" && !handler.types.includes(stored.type))
        return { outcome: "ignored", attempt: 0 };
      return resultOf(await attempt);
    },
    advance: async (seconds) => {
      const atMs = clock.nowMs() + seconds * 1_000;
      const pending = await engine.ledger.list(
        { state: "pending", handler: handler.name },
        { limit: 500, afterSeq: 0 },
      );
      const due = pending.filter((event) => (jobOf(event)?.nextAttemptAtMs ?? Infinity) <= atMs);
      const attempts = due.map(async ({ id }) => attemptAt(id));
      clock.move(seconds * 1_000);
      loop.wake();
      return Promise.all(attempts.map(async (attempt) => resultOf(await attempt)));
    },
    job: async (id) => jobOf(await engine.ledger.find(id)),
    rows: loop.query,
    close: async () => {
      await loop.drain(0);
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };

  function jobOf(event: InboxEvent | undefined): InboxJob | undefined {
    return event?.jobs.find(({ handler: name }) => name === handler.name);
  }

  /** Resolves when the next attempt at an event has ended. */
  async function attemptAt(eventId: string): Promise<Handled> {
    return new Promise((resolve) => ended.once(eventId, resolve));
  }

  async function resultOf({ id, outcome, attempt, error }: Handled): Promise<BenchResult> {
    const nextAtMs = jobOf(await engine.ledger.find(id))?.nextAttemptAtMs;
    return {
      outcome,
      attempt,
      ...(error === undefined ? {} : { error }),
      ...(nextAtMs == null
        ? {}
        : { nextAttemptInSeconds: Math.ceil((nextAtMs - (await engine.nowMs())) / 1_000) }),
    };
  }
}

const lineSchema = z.record(z.string(), z.unknown());

function newEvent(event: object): NewEvent {
  const body = Buffer.from(JSON.stringify(event));
  const parsed = parseEnvelope(body);
  if (!parsed.ok) throw new Error(`This is no event: ${parsed.message}`);
  const { id, type, objectId } = parsed;
  return { id: id.toLowerCase(), type, objectId, source: "webhook", body, trace: null };
}

/** Its date stands still until it is moved. Timers run when it is moved past them, or when their real time has passed. */
function benchClock(): Clock & { move: (ms: number) => void } {
  const startedAtMs = systemClock.nowMs();
  let movedMs = 0;
  const timers = new Set<{ atMs: number; ring: () => void }>();
  const monotonicMs = (): number => systemClock.monotonicMs() + movedMs;
  return {
    nowMs: () => startedAtMs + movedMs,
    monotonicMs,
    sleep: systemClock.sleep,
    after: (ms, run) => {
      const timer = {
        atMs: monotonicMs() + ms,
        ring: () => {
          if (timers.delete(timer)) run();
        },
      };
      timers.add(timer);
      const cancel = systemClock.after(ms, timer.ring);
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
    move: (ms) => {
      movedMs += ms;
      for (const timer of timers) if (timer.atMs <= monotonicMs()) timer.ring();
    },
  };
}
