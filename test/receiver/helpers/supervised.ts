import { ChildProcess } from "node:child_process";
import { createLog } from "../../../receiver/operations/log.ts";
import type { HandlersProcessOptions } from "../../../receiver/work/handlers-process.ts";
import { startSupervisor } from "../../../receiver/work/supervisor.ts";
import { standingClock } from "./clock.ts";

export type StandIn = ChildProcess & {
  workerId: string;
  /** Workers that it was told are gone. */
  predecessors: string[];
  sent: Record<string, unknown>[];
  says: (message: unknown) => void;
  ends: (code: number | null) => void;
};

/** A process that does what the test says. */
function standIn(assignment: readonly string[]): StandIn {
  const given = JSON.parse(assignment[0] ?? "") as Pick<StandIn, "workerId" | "predecessors">;
  const child = Object.assign(new ChildProcess(), {
    ...given,
    pid: 1,
    exitCode: null,
    signalCode: null,
    connected: true,
    sent: [] as Record<string, unknown>[],
    killed: false,
    says: (message: unknown) => void child.emit("message", message),
    ends: (code: number | null) => {
      Object.assign(child, { exitCode: code ?? 1, connected: false });
      child.emit("exit", code, null);
      child.emit("close", code, null);
    },
  });
  Object.assign(child, {
    send: (message: Record<string, unknown>) => child.sent.push(message) > 0,
    kill: (signal: string) => {
      child.killed = true;
      queueMicrotask(() => {
        if (child.exitCode === null) child.ends(null);
      });
      return signal === "SIGKILL";
    },
  });
  return child;
}

/** A supervisor of processes that do what the test says, on a clock that stands still. */
export function superviseStandIns(
  options: Partial<Pick<HandlersProcessOptions, "fork" | "inspectHandlers" | "watchHandlers">> = {},
) {
  const clock = standingClock();
  const children: StandIn[] = [];
  let deaths = 0;
  const logLines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => void logLines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const supervisor = startSupervisor(
    {
      config: { handlerMemoryMegabytes: 512 },
      environment: {},
      clock,
      log,
      fork: (_, assignment) => {
        const child = standIn(assignment);
        children.push(child);
        return child;
      },
      ...options,
    },
    () => ({ handled: () => undefined, workerDied: () => void (deaths += 1) }),
  );
  const last = (): StandIn => children.at(-1)!;
  const started = (child = last()): void => child.says({ kind: "started", files: ["/handlers/index.ts"] });
  const beat = (memoryBytes = 0, child = last()): void =>
    child.says({ kind: "alive", ended: [], memoryBytes });
  return {
    clock,
    children,
    deaths: () => deaths,
    said: () => logLines.map(({ msg, problem }) => problem ?? msg),
    supervisor,
    last,
    started,
    beat,
  };
}
