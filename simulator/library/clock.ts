import { CLOCK_MODES } from "../domain/clock.ts";
import type { Simulator } from "../verbs/simulator.ts";
import { secondsFrom } from "./input.ts";
import { refuseUnknownWord } from "./refusals.ts";
import type { ClockControl } from "./surface.ts";

/** What tests do with schedule time. */
export function createClockControl(simulator: Simulator): ClockControl {
  const { clock } = simulator;
  return {
    now: () => new Date(clock.now()),
    mode: () => clock.mode,
    setMode(mode) {
      refuseUnknownWord("simulator.clock.setMode(): the mode", mode, CLOCK_MODES);
      clock.setMode(mode);
    },
    // A duration that is none rejects, as all else that fails does.
    advance: async (duration) => clock.advance(secondsFrom(duration)),
    next: () => clock.next(),
    run: () => clock.run(),
  };
}
