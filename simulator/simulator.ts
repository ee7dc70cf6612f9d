import { randomBytes, randomInt } from "node:crypto";
import { openDatabase } from "./database.ts";
import { createAgenda } from "./domain/agenda.ts";
import { createAttempts } from "./domain/attempts.ts";
import { createCounts } from "./domain/counts.ts";
import { createClock, type ClockMode } from "./domain/clock.ts";
import { createDeliveries } from "./domain/deliveries.ts";
import { createDeliverySummaries } from "./domain/delivery-summaries.ts";
import { createDispatcher } from "./domain/dispatcher.ts";
import { createEmitter } from "./domain/emitter.ts";
import { createEndpoints } from "./domain/endpoints.ts";
import { createEventSummaries } from "./domain/event-summaries.ts";
import { createEventLog } from "./domain/events.ts";
import type { Fault } from "./domain/faults.ts";
import type { Send } from "./domain/flights.ts";
import { createJournal, type Journal } from "./domain/journal.ts";
import { createMeta } from "./domain/meta.ts";
import { DEFAULT_READINGS, type Readings } from "./domain/readings.ts";
import { resetTables } from "./domain/reset.ts";
import { createStories } from "./domain/stories.ts";
import { createTraffic } from "./domain/traffic.ts";
import { createTransaction } from "./domain/transaction.ts";
import { createVerdicts } from "./domain/verdicts.ts";
import { systemTime, type WallTime } from "./domain/wall-time.ts";
import type { Scenario } from "./domain/world/scenario.ts";
import { createWorld, type World } from "./domain/world/world.ts";
import { createSender } from "./sender/sender.ts";
import { createClockVerbs } from "./verbs/clock.ts";
import { createDeliveryVerbs } from "./verbs/deliveries.ts";
import { createEndpointVerbs } from "./verbs/endpoints.ts";
import { createEventVerbs } from "./verbs/events.ts";
import { createVerdictVerbs } from "./verbs/verdicts.ts";

export type SimulatorOptions = {
  /** Keeps the state in this file; in memory when absent. */
  dataFile?: string;
  /** Same seed, same ids, same data, same order; drawn at random when absent, since ids must differ between runs. */
  seed?: number;
  clock?: ClockMode;
  /** Calls in the generated history. */
  calls?: number;
  /** How many organizations there are, at least the restaurant and the service business. */
  organizations?: number;
  readings?: Readings;
  /** Stories beside those that come with the simulator. */
  scenarios?: Scenario[];
  /** What to do wrong to every endpoint. */
  faults?: Fault[];
  /** Hosts that an endpoint may have beside loopback names over http. */
  allowedHosts?: string[];
  /** Goes on with connections that receivers promise to keep; an attempt has one of its own otherwise. */
  keepAlive?: boolean | undefined;
  /** For tests: how long an endpoint has to answer (the service gives it 10 s), the machine's time, and the network. */
  answerTimeoutMs?: number;
  wall?: WallTime;
  send?: Send;
};

export type Simulator = ReturnType<typeof compose>;

export type SimulatorResult = { ok: true; simulator: Simulator } | { ok: false; message: string };

/** The generated history when nobody asks for another size. */
const DEFAULT_CALLS = 120;
const DAY_MS = 86_400_000;
/** Where history ends when a seed is given, since the same seed means the same data on every day. */
const SEEDED_EPOCH_MS = Date.UTC(2026, 0, 1);
const LARGEST_SEED = 2 ** 31 - 1;

/**
 * The whole service without its HTTP servers: opens the state, wires the parts and begins to deliver. The message of a
 * failure says what to change.
 */
export function createSimulator(options: SimulatorOptions = {}): SimulatorResult {
  const opened = openDatabase(options.dataFile);
  if (!opened.ok) return opened;
  const { database } = opened;
  const meta = createMeta(database);

  const keptSeed = meta.get("seed");
  if (keptSeed !== undefined && options.seed !== undefined && options.seed !== keptSeed) {
    database.close();
    return {
      ok: false,
      message: `${options.dataFile} was begun with --seed ${keptSeed}: leave --seed out, or use another --data file.`,
    };
  }
  const seed = keptSeed ?? options.seed ?? randomInt(LARGEST_SEED);
  meta.set("seed", seed);
  return {
    ok: true,
    simulator: compose({ ...options, database, meta, seed, isSeedGiven: options.seed !== undefined }),
  };
}

function compose(
  options: SimulatorOptions & {
    database: Parameters<typeof createMeta>[0];
    meta: ReturnType<typeof createMeta>;
    seed: number;
    isSeedGiven: boolean;
  },
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
    ...(options.organizations !== undefined && { organizations: options.organizations }),
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
  const agenda = createAgenda({ database, perform: (occurrence) => emitter.live(occurrence) });
  const { keepAlive, answerTimeoutMs: timeoutMs } = options;
  const send = options.send ?? createSender({ wall, allowedHosts, keepAlive, timeoutMs });
  const dispatcher = createDispatcher({
    deliveries,
    attempts,
    endpoints,
    events,
    clock,
    wall,
    journal,
    readings,
    send,
    transaction,
    agenda,
    remember,
    onLook: rememberLead,
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
  const { wake } = dispatcher;
  const stories = createStories({
    world,
    agenda,
    now: clock.now,
    transaction,
    wake,
    scenarios: options.scenarios ?? [],
  });
  const traffic = createTraffic({ world, emitter, wall });

  function remember(entriesToCome = 0): void {
    meta.set("schedule_ms", Math.floor(clock.now()));
    meta.set("journal_id", journal.lastId() + entriesToCome);
  }

  /** Where wall time has caught up, it remembers for us; what is ahead of it would be lost. */
  function rememberLead(): void {
    if (clock.now() > wall.nowMs()) remember();
  }

  // What carries a time is remembered with it: a kill -9 may cost the clock a moment, never its direction.
  const stopRemembering = journal.watch(({ kind }) => {
    if (kind === "event.created" || kind === "clock.changed") remember();
  });

  const told: Omit<Journal, "write"> = journal;
  dispatcher.start();

  return {
    seed,
    /** What of the options has no effect, and why, for whoever asked for it. */
    notes: notesOf(options, world),
    world,
    endpoints: createEndpointVerbs({ endpoints, world, emitter, dispatcher }),
    events: createEventVerbs({ events, eventSummaries, emitter }),
    deliveries: createDeliveryVerbs({
      deliveries,
      deliverySummaries,
      attempts,
      events,
      endpoints,
      emitter,
      dispatcher,
      now: clock.now,
      wallNowMs: () => wall.nowMs(),
      readings,
      keepAlive: keepAlive === true,
    }),
    clock: createClockVerbs({ clock, dispatcher, journal, wall }),
    stories,
    traffic,
    counts,
    verdicts,
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
      verdicts.close();
      await dispatcher.stop();
      stopRemembering();
      remember();
      database.close();
    },
  };
}

/** A data file keeps the world that it was begun with. */
function notesOf({ dataFile, calls, organizations }: SimulatorOptions, { origin }: World): string[] {
  const asked = [
    { option: "--calls", given: calls, kept: origin.calls },
    { option: "--organizations", given: organizations, kept: origin.organizations },
  ];
  return asked
    .filter(({ given, kept }) => dataFile !== undefined && given !== undefined && given !== kept)
    .map(
      ({ option, given, kept }) =>
        `${option} ${given} has no effect: ${dataFile} was begun with ${kept}. Leave it out, or use another --data file.`,
    );
}

/** A clock that is moved by hand goes on from where it stood; any other one from now, but never backwards. */
function scheduleStartMs(times: { mode: ClockMode; wallMs: number; keptMs: number | undefined }): number {
  const { mode, wallMs, keptMs } = times;
  if (keptMs === undefined) return wallMs;
  return mode === "manual" ? keptMs : Math.max(wallMs, keptMs);
}
