import type { ClockMode } from "../domain/clock.ts";
import { parseDuration } from "../domain/duration.ts";
import type { Simulator } from "../simulator.ts";

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
    async advance(duration) {
      const seconds = typeof duration === "number" ? duration : parseDuration(duration);
      if (seconds === undefined || !(seconds >= 0)) {
        throw new Error(
          `${JSON.stringify(duration)} is no duration: give seconds, or a text such as "5m" or "12h".`,
        );
      }
      await clock.advance(seconds);
    },
    next: () => clock.next(),
    run: () => clock.run(),
  };
}
