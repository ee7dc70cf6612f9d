import type { ClockMode } from "../domain/clock.ts";
import type { Simulator } from "../simulator.ts";
import { secondsFrom } from "./input.ts";

/** Schedule time: decides when attempts are due and dates events. What it does never reaches a signature's `t`. */
export type ClockControl = {
  now(): Date;
  mode(): ClockMode;
  setMode(mode: ClockMode): void;
  /** Moves forward by seconds, or by `"5m"`, `"12h"`, `"1h30m"`. Resolves when the attempts that fell due were made. */
  advance(duration: number | string): Promise<void>;
  /** Moves to the next due attempt. Resolves when it was made; at once when none is due. */
  next(): Promise<void>;
  /** Runs the schedule to its end: resolves when every delivery is delivered or dead. */
  run(): Promise<void>;
};

export function createClockControl(simulator: Simulator): ClockControl {
  const { clock } = simulator;
  return {
    now: () => new Date(clock.now()),
    mode: () => clock.mode,
    setMode: (mode) => clock.setMode(mode),
    // A duration that is none rejects, as all else that fails does.
    advance: async (duration) => clock.advance(secondsFrom(duration)),
    next: () => clock.next(),
    run: () => clock.run(),
  };
}
