import { ChildProcess } from "node:child_process";
import { startSupervisor, type SupervisorOptions } from "../../../receiver/work/supervisor.ts";
import { standingClock } from "../helpers/clock.ts";
import { recordedLog } from "../helpers/log.ts";

type StandIn = ChildProcess & { orders: unknown[]; signals: string[]; ends: (code: number | null) => void };

/** A process that does what the test says. */
export function standIn(): StandIn {
  const child: StandIn = Object.assign(new ChildProcess(), {
    orders: [] as unknown[],
    signals: [] as string[],
    connected: true,
    ends: (code: number | null) => {
      Object.assign(child, { connected: false });
      child.emit("close", code, null);
    },
    send: (order: unknown) => child.orders.push(order) > 0,
    kill: (signal: string) => {
      child.signals.push(signal);
      queueMicrotask(() => {
        if (child.connected) child.ends(null);
      });
      return true;
    },
  });
  return child;
}

/** A supervisor of such processes, on a clock that stands still. */
export function supervise(options: Partial<SupervisorOptions> = {}) {
  const clock = standingClock();
  const children: StandIn[] = [];
  const { log, lines } = recordedLog();
  const ended: object[] = [];
  let deaths = 0;
  const supervisor = startSupervisor({
    environment: () => ({}),
    memoryMegabytes: 512,
    clock,
    log,
    running: async () => [{ handler: "pos", id: "evt_1" }],
    onEnded: (attempts) => void ended.push(...attempts),
    onDeath: () => (deaths += 1),
    fork: () => {
      const child = standIn();
      children.push(child);
      return child;
    },
    ...options,
  });
  const last = (): StandIn => children.at(-1)!;
  const says = (message: unknown): void => void last().emit("message", message);
  return {
    clock,
    children,
    ended,
    supervisor,
    last,
    says,
    deaths: () => deaths,
    lines,
    ready: () => says({ kind: "ready", files: {} }),
    /** Lets it run, with heartbeats, for so many seconds. */
    live: async (seconds: number, memoryBytes = 0) => {
      says({ kind: "ready", files: {} });
      for (let second = 0; second < seconds; second += 1) {
        await clock.pass(1_000);
        says({ kind: "alive", isWorking: true, memoryBytes, ended: [] });
      }
    },
  };
}
