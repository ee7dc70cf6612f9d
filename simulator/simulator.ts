import { randomInt } from "node:crypto";
import { compose } from "./compose.ts";
import { openDatabase } from "./database.ts";
import type { ClockMode } from "./domain/clock.ts";
import type { Fault } from "./domain/faults.ts";
import type { Send } from "./domain/flights.ts";
import { createMeta } from "./domain/meta.ts";
import type { Readings } from "./domain/readings.ts";
import type { RetentionBounds } from "./domain/retention.ts";
import type { WallTime } from "./domain/wall-time.ts";
import type { Scenario } from "./domain/world/scenario.ts";
import type { listListeners } from "./processes/listeners.ts";
import type { World } from "./domain/world/world.ts";

export type SimulatorOptions = {
  /** Keeps the state in this file; in memory when absent. */
  dataFile?: string | undefined;
  /** Same seed, same ids, same data, same order; drawn at random when absent, since ids must differ between runs. */
  seed?: number | undefined;
  clock?: ClockMode;
  /** Calls in the generated history. */
  calls?: number | undefined;
  /** How many organizations there are, at least the restaurant and the service business. */
  organizations?: number | undefined;
  readings?: Readings;
  /** Stories beside those that come with the simulator. */
  scenarios?: Scenario[];
  /** What to do wrong to every endpoint. */
  faults?: Fault[];
  /** Hosts that an endpoint may have beside loopback names over http. */
  allowedHosts?: string[];
  /** Goes on with connections that receivers promise to keep; an attempt has one of its own otherwise. */
  keepAlive?: boolean | undefined;
  /**
   * Without a data file: lets what does not fit into a few megabytes of memory go to a temporary file, for a process that
   * runs for days.
   */
  isLongLived?: boolean | undefined;
  /** How much of what was sent is kept; the last 100,000 deliveries or 1 GB, whichever is less, unless told otherwise. */
  retention?: Partial<RetentionBounds> | undefined;
  /** For tests: how long an endpoint has to answer (the service gives it 10 s), the machine's time, the network, and who is there. */
  answerTimeoutMs?: number | undefined;
  wall?: WallTime;
  send?: Send;
  listListeners?: typeof listListeners;
};

export type Simulator = ReturnType<typeof compose> & {
  /** What of the options has no effect, and why, for whoever asked for it. */
  notes: string[];
};

export type SimulatorResult = { ok: true; simulator: Simulator } | { ok: false; message: string };

const LARGEST_SEED = 2 ** 31 - 1;

/**
 * The whole service without its HTTP servers: opens the state, wires the parts and begins to deliver. The message of a
 * failure says what to change.
 */
export function createSimulator(options: SimulatorOptions = {}): SimulatorResult {
  const opened = openDatabase(options.dataFile, options.isLongLived);
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
  const parts = compose({ ...options, database, meta, seed, isSeedGiven: options.seed !== undefined });
  return { ok: true, simulator: { ...parts, notes: notesOf(options, parts.world) } };
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
