import { fork, type ChildProcess, type ForkOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { siblingFile } from "../sibling-file.ts";
import type { Assignment, SupervisorMessage } from "./messages.ts";

/** The handlers' process, as its supervisor knows it. */
export type Child = {
  process: ChildProcess;
  workerId: string;
  state: "loading" | "ready" | "begun" | "started" | "replaced";
  forkedAtMs: number;
  heardAtMs: number;
  /** The vanished workers that it was told of when it began. */
  predecessors: readonly string[];
  isBroken: boolean;
};

export type Fork = (file: URL, assignment: readonly string[], options: ForkOptions) => ChildProcess;

/** Starts a process for the handlers of a module. Some failures are thrown; the others come as its `error` event. */
export function forkChild(options: {
  environment: NodeJS.ProcessEnv;
  handlersModule?: URL | undefined;
  memoryMegabytes: number;
  inspect?: string | undefined;
  nowMs: number;
  fork?: Fork | undefined;
}): Child {
  const { inspect, nowMs } = options;
  const assignment: Assignment = { handlersModule: options.handlersModule?.href, workerId: createWorkerId() };
  const started = (options.fork ?? fork)(
    siblingFile(import.meta.url, "worker"),
    [JSON.stringify(assignment)],
    {
      env: options.environment,
      execArgv: [
        ...process.execArgv.filter((flag) => !flag.startsWith("--inspect")),
        `--max-old-space-size=${String(options.memoryMegabytes)}`,
        ...(inspect === undefined ? [] : [`--inspect=${inspect}`]),
      ],
    },
  );
  return {
    process: started,
    workerId: assignment.workerId,
    state: "loading",
    forkedAtMs: nowMs,
    heardAtMs: nowMs,
    predecessors: [],
    isBroken: false,
  };
}

export function isRunning({ process: { pid, exitCode, signalCode } }: Child): boolean {
  return pid !== undefined && exitCode === null && signalCode === null;
}

/** Tells a process, if there is one, to load its handlers. */
export function load(child: Child | undefined): Child | undefined {
  if (child) tell(child, { kind: "load" });
  return child;
}

/** A process that is just ending gets no message. */
export function tell({ process: child }: Child, message: SupervisorMessage): void {
  if (child.connected) child.send(message, () => undefined);
}

/** A name for a worker, unique among all there ever were; an operator sees by it which machine a job is on. */
export function createWorkerId(): string {
  return `${hostname()}:${randomBytes(8).toString("hex")}`;
}
