import { CLOCK_MODES } from "../domain/clock.ts";
import { parseReadings } from "../domain/readings.ts";
import { systemTime } from "../domain/wall-time.ts";
import { createSimulator } from "../service/simulator.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { faultsFrom, orThrow, refuseBeyondBounds, refuseUnknown, refuseUnknownWord } from "./input.ts";
import type { StartOptions } from "./surface.ts";

const CALL = "startSimulator()";

const KNOWN: Record<keyof StartOptions, true> = {
  port: true,
  clock: true,
  seed: true,
  dataFile: true,
  calls: true,
  readings: true,
  faults: true,
  allowedHosts: true,
  answerTimeoutMs: true,
  concurrency: true,
};

export function simulatorFrom(options: StartOptions, dateMs: () => number): Simulator {
  refuseUnknown(CALL, options, Object.keys(KNOWN));
  const {
    readings,
    faults = [],
    allowedHosts = [],
    clock = "manual",
    port,
    answerTimeoutMs,
    ...rest
  } = options;
  const { seed, calls, dataFile, concurrency } = rest;
  refuseBeyondBounds(CALL, { port, seed, calls, concurrency });
  refuseUnknownWord(`${CALL}: clock`, clock, CLOCK_MODES);
  if (answerTimeoutMs !== undefined && !(answerTimeoutMs > 0)) {
    throw new Error(`${CALL}: answerTimeoutMs is ${answerTimeoutMs}. Give milliseconds, such as 500.`);
  }
  if (dataFile !== undefined && (typeof dataFile !== "string" || dataFile === "")) {
    throw new Error(`${CALL}: dataFile is ${JSON.stringify(dataFile)}. Give a path, or leave it out.`);
  }
  const choices = Object.entries(readings ?? {}).map(([name, choice]) => `${name}=${choice}`);
  const settings = {
    ...rest,
    answerTimeoutMs,
    clock,
    readings: orThrow(parseReadings(choices)).readings,
    faults: faultsFrom(faults),
    allowedHosts: [...allowedHosts],
    wall: { ...systemTime, nowMs: dateMs },
  };
  return orThrow(createSimulator(settings)).simulator;
}
