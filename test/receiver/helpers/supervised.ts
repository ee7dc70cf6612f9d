import { ChildProcess } from "node:child_process";
import { createLog } from "../../../receiver/operations/log.ts";
import { startSupervisor } from "../../../receiver/work/supervisor.ts";
import { standingClock } from "./clock.ts";

export type StandIn = ChildProcess & {
  workerId: string;
  /** Whether it was told to load its handlers; all else that it was told. */
  loads: boolean;
  sent: Record<string, unknown>[];
  says: (message: unknown) => void;
  ends: (code: number | null) => void;
};

/** A process that does what the test says. */
function standIn(assignment: readonly string[]): StandIn {
  const { workerId } = JSON.parse(assignment[0] ?? "") as { workerId: string };
  const child = Object.assign(new ChildProcess(), {
    pid: 1,
    workerId,
    exitCode: null,
    signalCode: null,
    connected: true,
    loads: false,
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
    send: (message: Record<string, unknown>) =>
      message["kind"] === "load" ? (child.loads = true) : child.sent.push(message) > 0,
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
  options: Partial<
    Pick<
      Parameters<typeof startSupervisor>[0],
      "environment" | "fork" | "handlersModule" | "inspect" | "keepsSpare" | "memoryMegabytes"
    >
  > = {},
) {
  const clock = standingClock();
  const children: StandIn[] = [];
  let deaths = 0;
  const logLines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line) => void logLines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const followed: string[][] = [];
  const ended: object[] = [];
  const supervisor = startSupervisor({
    environment: {},
    memoryMegabytes: 512,
    clock,
    log,
    onEnded: (attempts) => void ended.push(...attempts),
    onDeath: () => (deaths += 1),
    onFiles: (files) => void followed.push([...files]),
    fork: (_, assignment) => {
      const child = standIn(assignment);
      children.push(child);
      return child;
    },
    ...options,
  });
  const last = (): StandIn => children.at(-1)!;
  const ready = (child = last()): void => child.says({ kind: "ready", files: ["/handlers/index.ts"] });
  const started = (child = last()): void => {
    ready(child);
    child.says({ kind: "started" });
  };
  const beat = (memoryBytes = 0, child = last()): void =>
    child.says({ kind: "alive", ended: [], memoryBytes });
  return {
    clock,
    children,
    deaths: () => deaths,
    /** The lines of the log, without the time. */
    lines: () => logLines.map(({ time: _time, ...line }) => line),
    said: () => logLines.map(({ msg, problem }) => problem ?? msg),
    followed,
    ended,
    supervisor,
    last,
    ready,
    started,
    beat,
  };
}

/** What a process is told that has these predecessors. */
export const begin = (...predecessors: string[]) => ({ kind: "begin", predecessors });
