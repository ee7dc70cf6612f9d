import { randomInt } from "node:crypto";
import { compose, type SimulatorOptions } from "./compose.ts";
import { openDatabase } from "../files/database.ts";
import { createMeta } from "../domain/meta.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { type Refused, refused } from "../domain/refused.ts";

export type SimulatorResult = { ok: true; simulator: Simulator } | Refused;

const LARGEST_SEED = 2 ** 31 - 1;

/** The whole service without its HTTP server: opens the state, wires the parts and begins to deliver. */
export function createSimulator(options: SimulatorOptions = {}): SimulatorResult {
  const opened = openDatabase(options.dataFile);
  if (!opened.ok) return opened;
  const { database } = opened;
  const meta = createMeta(database);

  const keptSeed = meta.get("seed");
  if (keptSeed !== undefined && options.seed !== undefined && options.seed !== keptSeed) {
    database.close();
    return refused(
      `${options.dataFile} was begun with --seed ${keptSeed}: leave --seed out, or use another --data file.`,
    );
  }
  const seed = keptSeed ?? options.seed ?? randomInt(LARGEST_SEED);
  meta.set("seed", seed);
  const isSeedGiven = options.seed !== undefined;
  return { ok: true, simulator: compose({ ...options, database, meta, seed, isSeedGiven }) };
}
