import { randomBytes } from "node:crypto";
import type { Database } from "better-sqlite3";
import { createAgenda } from "./domain/agenda.ts";
import { createAhead } from "./domain/ahead.ts";
import { createAttempts } from "./domain/attempts.ts";
import { createCounts } from "./domain/counts.ts";
import { createClock } from "./domain/clock.ts";
import { createDeliveries } from "./domain/deliveries.ts";
import { createDeliverySummaries } from "./domain/delivery-summaries.ts";
import { createDispatcher } from "./domain/dispatcher.ts";
import { createEmitter } from "./domain/emitter.ts";
import { createEndpoints } from "./domain/endpoints.ts";
import { createEventSummaries } from "./domain/event-summaries.ts";
import { createEventLog } from "./domain/events.ts";
import { createJournal, type Journal } from "./domain/journal.ts";
import type { Meta } from "./domain/meta.ts";
import { DEFAULT_READINGS, type Readings } from "./domain/readings.ts";
import { resetTables } from "./domain/schema.ts";
import { createStories } from "./domain/stories.ts";
import { createTraffic } from "./domain/traffic.ts";
import { createTransaction } from "./domain/transaction.ts";
import { createVerdicts } from "./domain/verdicts.ts";
import { systemTime } from "./domain/wall-time.ts";
import { createWorld } from "./domain/world/world.ts";
import { listListeners } from "./processes/listeners.ts";
import { probeReceiver } from "./processes/receiver-probe.ts";
import { createSender } from "./sender/sender.ts";
import { createClockVerbs } from "./verbs/clock.ts";
import { createDeliveryVerbs } from "./verbs/deliveries.ts";
import { createEndpointVerbs } from "./verbs/endpoints.ts";
import { createEventVerbs } from "./verbs/events.ts";
import { createReceiverVerbs } from "./verbs/receivers.ts";
import { createVerdictVerbs } from "./verbs/verdicts.ts";
import { createVerificationVerbs } from "./verbs/verification.ts";
import { createRetention, DEFAULT_RETENTION } from "./domain/retention.ts";
import { createMemory, scheduleStartMs } from "./domain/memory.ts";
import type { SimulatorOptions } from "./simulator.ts";

/** The generated history when nobody asks for another size. */
const DEFAULT_CALLS = 120;
const DAY_MS = 86_400_000;
/** Where history ends when a seed is given, since the same seed means the same data on every day. */
const SEEDED_EPOCH_MS = Date.UTC(2026, 0, 1);

/** Wires the parts over an open database, and begins to deliver. */
export function compose(
  options: SimulatorOptions & { database: Database; meta: Meta; seed: number; isSeedGiven: boolean },
) {
  const { database, meta, seed, wall = systemTime, allowedHosts = [] } = options;
  const settings = { readings: options.readings ?? DEFAULT_READINGS, baseUrl: "http://localhost:4010" };
  const readings = () => settings.readings;
  const transaction = createTransaction(database);

  const mode = options.clock ?? "real";
  const startMs = scheduleStartMs({ mode, wallMs: wall.nowMs(), keptMs: meta.get("schedule_ms") });
  const clock = createClock({ mode, wall, startMs });
  // Wall time leaves room for what an earlier life wrote and did not remember, so that no watcher takes a new entry for
  // an old one.
  const journal = createJournal({
    firstId: Math.max(wall.nowMs() * 1000, (meta.get("journal_id") ?? 0) + 1),
  });

  const world = createWorld({
    database,
    seed,
    calls: options.calls ?? DEFAULT_CALLS,
    epochMs: options.isSeedGiven ? SEEDED_EPOCH_MS : startMs - (startMs % DAY_MS),
    organizations: options.organizations,
    readings,
    nowMs: clock.now,
    baseUrl: () => settings.baseUrl,
  });
  const events = createEventLog({ database, seed, clock, meta });
  const newSecret = () => `whsec_${randomBytes(24).toString("hex")}`;
  const endpoints = createEndpoints({ database, seed, clock, journal, allowedHosts, newSecret });
  const deliveries = createDeliveries({ database, seed });
  const attempts = createAttempts({ database });
  const monotonicMs = () => wall.monotonicMs();
  const deliverySummaries = createDeliverySummaries({ database, attempts, monotonicMs });
  const eventSummaries = createEventSummaries({ database, monotonicMs });
  const counts = createCounts({ database });
  const judged = createVerdicts({ database, deliverySummaries, journal });
  const verdicts = createVerdictVerbs({ verdicts: judged, journal, deliveries, attempts, wall });
  const newSeed = () => randomBytes(4).toString("hex");
  const verification = createVerificationVerbs({ endpoints, verdicts, journal, wall, allowedHosts, newSeed });
  const agenda = createAgenda({ database, perform: (happening) => emitter.live(happening) });
  const { keepAlive, answerTimeoutMs: timeoutMs } = options;
  const send = options.send ?? createSender({ wall, allowedHosts, keepAlive, timeoutMs });
  const bounds = { ...DEFAULT_RETENTION, ...options.retention };
  const retention = createRetention({
    database,
    transaction,
    bounds,
    isBusy: (nowMs) => dispatcher.isBusy(nowMs),
  });
  const memory = createMemory({ meta, clock, wall, journal, retention, wake: () => dispatcher.wake() });
  const dispatcher = createDispatcher({
    deliveries,
    attempts,
    endpoints,
    clock,
    wall,
    journal,
    readings,
    send,
    transaction,
    agenda,
    remember: memory.remember,
    onLook: memory.onLook,
  });
  const emitter = createEmitter({
    world,
    events,
    endpoints,
    deliveries,
    journal,
    readings,
    seed,
    now: clock.now,
    transaction,
    faults: options.faults ?? [],
    wake: dispatcher.wake,
  });
  const stories = createStories({
    world,
    agenda,
    now: clock.now,
    transaction,
    onTold: () => {
      // What is due next has changed.
      journal.write({ kind: "clock.changed" });
      dispatcher.wake();
    },
    scenarios: options.scenarios ?? [],
  });
  const traffic = createTraffic({ world, emitter, wall });

  const told: Omit<Journal, "write"> = journal;
  dispatcher.start();

  return {
    seed,
    /** How much of what was sent is kept. */
    retention: bounds,
    world,
    endpoints: createEndpointVerbs({ endpoints, world, emitter, dispatcher }),
    receivers: createReceiverVerbs({ list: options.listListeners ?? listListeners, probe: probeReceiver }),
    events: createEventVerbs({ events, endpoints, eventSummaries, emitter }),
    deliveries: createDeliveryVerbs({
      deliveries,
      deliverySummaries,
      attempts,
      events,
      endpoints,
      emitter,
      dispatcher,
      now: clock.now,
      kept: bounds.deliveries,
      wallNowMs: () => wall.nowMs(),
      readings,
      keepAlive: keepAlive === true,
    }),
    clock: createClockVerbs({ clock, dispatcher, journal, wall, ahead: createAhead({ database }) }),
    stories,
    traffic,
    counts,
    verdicts,
    verification,
    /** What happens, as it happens, for everybody who watches. */
    journal: told,
    readings,
    setReadings(next: Readings): void {
      settings.readings = next;
    },
    /** Where the REST API is reached, for the links in its answers. */
    setBaseUrl(url: string): void {
      settings.baseUrl = url;
    },
    /** Resolves when nothing is in flight and nothing is due now (with the clock `skip`: nothing is due any more). */
    settled: dispatcher.settled,
    /** Forgets every event and delivery, and, unless told otherwise, every endpoint; the seeded world stays. */
    async reset(keep: { endpoints: boolean }): Promise<void> {
      await dispatcher.quiesce(() => {
        transaction(() => resetTables(database, keep));
        world.reset();
      });
      journal.write({ kind: "reset" });
    },
    /** Ends what is in flight as `interrupted` and closes the state. */
    async close(): Promise<void> {
      traffic.set(0);
      await verification.cancel();
      await dispatcher.stop();
      verdicts.close();
      memory.close();
      database.close();
    },
  };
}
