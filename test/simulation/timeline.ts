import type { Clock } from "../../receiver/clock.ts";
import { createVirtualWall, type VirtualWall } from "../helpers/virtual-wall.ts";
import { loopTurns } from "../helpers/loop-turns.ts";

/** The effects of a timer take several turns of the event loop: a group commit, a transaction, the next claim. */
const TURNS = 14;

/** Sleeps are rounded up, which is always allowed: polls every 20 ms would be most of a simulation's work. */
const SHORTEST_SLEEP_MS = 200;

/** The clock of one process, which can be stopped and killed. */
export type ProcessClock = {
  clock: Clock;
  /** Stops it as SIGSTOP does: its timers wait. */
  stop: () => void;
  continue: () => void;
  /** Kills it: none of its timers fires again. */
  kill: () => void;
};

export type Timeline = {
  /** The time of the service, whose clock is never set. */
  service: VirtualWall;
  process: () => ProcessClock;
  /** Lets time pass for all; timers fire in order, and the effects of each are done before the next. */
  pass: (ms: number) => Promise<void>;
  /** The receiver's machine sleeps, and the service's time goes on. Neither its timers nor its monotonic clock notice. */
  suspend: (ms: number) => Promise<void>;
  /** Sets the wall clock of the receiver's machine, with this offset from the service's. */
  setClock: (aheadMs: number) => void;
};

/** The time of the service and of the receiver's machine, controlled by the simulation alone. */
export function createTimeline(): Timeline {
  const service = createVirtualWall();
  const machine = createVirtualWall();
  let aheadMs = 0;

  function process(): ProcessClock {
    let state: "running" | "stopped" | "killed" = "running";
    let held: (() => void)[] = [];
    const after = (ms: number, run: () => void): (() => void) => {
      let cancelled = false;
      const go = (): void => {
        if (cancelled || state === "killed") return;
        if (state === "stopped") held.push(go);
        else run();
      };
      const cancel = machine.after(ms, go);
      return () => {
        cancelled = true;
        cancel();
      };
    };
    const clock: Clock = {
      nowMs: () => service.nowMs() + aheadMs,
      monotonicMs: () => machine.monotonicMs(),
      sleep: async (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) return resolve();
          const cancel = after(Math.max(ms, SHORTEST_SLEEP_MS), resolve);
          const onAbort = (): void => {
            cancel();
            resolve();
          };
          signal?.addEventListener("abort", onAbort, { once: true });
        }),
      after,
    };
    return {
      clock,
      stop: () => {
        state = "stopped";
      },
      continue: () => {
        state = "running";
        const due = held;
        held = [];
        for (const go of due) go();
      },
      kill: () => {
        state = "killed";
      },
    };
  }

  return {
    service,
    process,
    pass: async (ms) => {
      const endMs = service.monotonicMs() + ms;
      await loopTurns(TURNS);
      while (service.monotonicMs() < endMs) {
        const next = [service.nextTimerInMs(), machine.nextTimerInMs()].map((inMs) =>
          Math.max(0, inMs ?? ms),
        );
        const stepMs = Math.min(endMs - service.monotonicMs(), ...next);
        machine.pass(stepMs);
        service.pass(stepMs);
        await loopTurns(TURNS);
      }
    },
    suspend: async (ms) => {
      service.pass(ms);
      await loopTurns(TURNS);
    },
    setClock: (ms) => {
      aheadMs = ms;
    },
  };
}
