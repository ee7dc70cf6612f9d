import { setImmediate } from "node:timers/promises";
import { randomBytes } from "node:crypto";
import type { Database } from "better-sqlite3";
import { createAhead } from "../domain/ahead.ts";
import { createAttempts } from "../domain/attempts.ts";
import { createCounts } from "../domain/counts.ts";
import { createClock, type ClockMode } from "../domain/clock.ts";
import { createDeliveries } from "../domain/deliveries.ts";
import { createDeliverySummaries } from "../domain/delivery-summaries.ts";
import { createDeliverySearch } from "../domain/delivery-search.ts";
import { createDispatcher, DEFAULT_CONCURRENCY } from "../domain/dispatcher.ts";
import { createEmitter } from "../domain/emitter.ts";
import type { Fault } from "../domain/faults.ts";
import type { Send } from "../domain/flights.ts";
import type { Scenario } from "../domain/world/scenario.ts";
import { createEndpoints } from "../domain/endpoints.ts";
import { createEventSummaries, createEventLog } from "../domain/events.ts";
import { createHistory } from "../domain/history.ts";
import { createJournal } from "../domain/journal.ts";
import type { Meta } from "../domain/meta.ts";
import { DEFAULT_READINGS, type Readings } from "../domain/readings.ts";
import { resetTables } from "../domain/schema.ts";
import { createScenarios } from "../domain/scenarios.ts";
import { createTraffic } from "../domain/traffic.ts";
import { createTransaction } from "../domain/transaction.ts";
import { createVerdicts } from "../domain/verdicts.ts";
import { systemTime, type WallTime } from "../domain/wall-time.ts";
import { createWorld } from "../domain/world/world.ts";
import { listListeners } from "../processes/listening.ts";
import { createSender } from "../sender/sender.ts";
import { createClockVerbs } from "../verbs/clock.ts";
import { createDeliveryVerbs } from "../verbs/deliveries.ts";
import { createEndpointVerbs } from "../verbs/endpoints.ts";
import { createJobVerbs } from "../verbs/jobs.ts";
import { createVerdictVerbs } from "../verbs/verdicts.ts";
import { createVerificationVerbs } from "../verbs/verification.ts";
import { createRetention, DEFAULT_RETENTION, type RetentionBounds } from "../domain/retention.ts";
import { createMemory, scheduleStartMs } from "../domain/memory.ts";
import type { Simulator } from "../verbs/simulator.ts";

const DEFAULT_CALLS = 120;
const DAY_MS = 86_400_000;
/** The end of the history if a seed is given, so that the same seed means the same data on every day. */
const SEEDED_EPOCH_MS = Date.UTC(2026, 0, 1);

export type SimulatorOptions = {
  dataFile?: string | undefined;
  /** Same seed, same ids, same data, same order; drawn at random when absent, since ids must differ between runs. */
  seed?: number | undefined;
  clock?: ClockMode;
  calls?: number | undefined;
  readings?: Readings;
  scenarios?: Scenario[];
  faults?: Fault[];
  /** Hosts that endpoints may have over http, as loopback names, and with private addresses. */
  allowedHosts?: string[];
  concurrency?: number | undefined;
  /** The kept sent data: by default the last 100,000 deliveries or 1 GB, whichever is less. */
  retention?: Partial<RetentionBounds> | undefined;
  /** For tests: the time limit of an answer, the machine's time, the network, and the listening ports. */
  answerTimeoutMs?: number | undefined;
  wall?: WallTime;
  send?: Send;
  listListeners?: typeof listListeners;
};

/** Wires the parts over an open database, and begins to deliver. */
export function compose(
  options: SimulatorOptions & { database: Database; meta: Meta; seed: number; isSeedGiven: boolean },
): Simulator {
  const { database, meta, seed, wall = systemTime, allowedHosts = [] } = options;
  const settings = { readings: options.readings ?? DEFAULT_READINGS, baseUrl: "http://localhost:4010" };
  const readings = () => settings.readings;
  const transaction = createTransaction(database);

  const mode = options.clock ?? "real";
  const startMs = scheduleStartMs({ mode, wallMs: wall.nowMs(), keptMs: meta.get("schedule_ms") });
  const clock = createClock({ mode, wall, startMs });
  // Above every id that an earlier run used without storing it, so that no watcher mistakes a new entry for an old one.
  const journal = createJournal({
    firstId: Math.max(wall.nowMs() * 1000, (meta.get("journal_id") ?? 0) + 1),
  });
  const common = {
    database,
    transaction,
    meta,
    seed,
    wall,
    clock,
    journal,
    readings,
    allowedHosts,
    now: clock.now,
    monotonicMs: () => wall.monotonicMs(),
    wallNowMs: () => wall.nowMs(),
  };

  const world = createWorld({
    ...common,
    calls: options.calls ?? DEFAULT_CALLS,
    epochMs: options.isSeedGiven ? SEEDED_EPOCH_MS : startMs - (startMs % DAY_MS),
    nowMs: clock.now,
    baseUrl: () => settings.baseUrl,
  });
  const newSecret = () => `whsec_${randomBytes(24).toString("hex")}`;
  const tables = {
    events: createEventLog(common),
    endpoints: createEndpoints({ ...common, newSecret }),
    deliveries: createDeliveries(common),
    attempts: createAttempts(common),
    eventSummaries: createEventSummaries(common),
  };
  const { endpoints } = tables;
  const deliverySummaries = createDeliverySummaries({ ...common, ...tables });
  const find = createDeliverySearch(common);
  const counts = createCounts(common);
  const judged = createVerdicts({ ...common, deliverySummaries });
  const verdicts = createVerdictVerbs({ ...common, ...tables, verdicts: judged });
  const newSeed = () => randomBytes(4).toString("hex");
  const verification = createVerificationVerbs({ ...common, endpoints, verdicts, newSeed });
  const scenarios = createScenarios({
    ...common,
    world,
    perform: (step) => emitter.live(step),
    onBegun: () => {
      // The next due time has changed.
      journal.write({ kind: "clock.changed" });
      wake();
    },
    scenarios: options.scenarios ?? [],
  });
  const bounds = { ...DEFAULT_RETENTION, ...options.retention };
  const isBusy = (nowMs: number) => dispatcher.isBusy(nowMs);
  const retention = createRetention({ ...common, bounds, isBusy });
  const memory = createMemory({ ...common, retention, wake: () => dispatcher.wake() });
  const dispatcher = createDispatcher({
    ...common,
    ...tables,
    ...memory,
    scenarios,
    send: options.send ?? createSender({ ...common, timeoutMs: options.answerTimeoutMs }),
    concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
  });
  const { wake } = dispatcher;
  const emitter = createEmitter({ ...common, ...tables, world, faults: options.faults ?? [], wake });
  const traffic = createTraffic({ world, emitter, wall });
  const parts = { ...common, ...tables, find, counts, deliverySummaries, world, emitter, dispatcher };
  const deliveries = createDeliveryVerbs({
    ...parts,
    kept: bounds.deliveries,
    history: createHistory(database, setImmediate),
  });
  const jobs = createJobVerbs({ ...parts, findAll: deliveries.findAll });

  dispatcher.start();

  return {
    seed,
    retention: bounds,
    world,
    endpoints: createEndpointVerbs(parts),
    listListeners: options.listListeners ?? listListeners,
    events: {
      ...emitter,
      find: tables.events.find,
      summary: tables.eventSummaries.find,
      page: (search) => tables.eventSummaries.page(search),
    },
    deliveries,
    jobs,
    clock: createClockVerbs({ ...parts, ahead: createAhead(common) }),
    scenarios,
    traffic,
    counts,
    verdicts,
    verification,
    journal,
    readings,
    setReadings(next: Readings): void {
      settings.readings = next;
    },
    setBaseUrl(url: string): void {
      settings.baseUrl = url;
    },
    settled: dispatcher.settled,
    async reset(keep: { endpoints: boolean }): Promise<void> {
      await dispatcher.quiesce(() => {
        transaction(() => resetTables(database, keep));
        world.reset();
      });
      journal.write({ kind: "reset" });
    },
    async close(): Promise<void> {
      traffic.set(0);
      await jobs.close();
      await verification.cancel();
      await dispatcher.stop();
      verdicts.close();
      memory.close();
      database.close();
    },
  };
}
