import { fork, type ChildProcess, type ForkOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../operations/log.ts";
import { NOT_FOR_HANDLERS } from "../operations/secrets.ts";
import { siblingFile } from "../sibling-file.ts";
import type { Assignment, SupervisorMessage } from "./messages.ts";

/** The handlers' process, as its supervisor knows it. */
export type Child = {
  process: ChildProcess;
  workerId: string;
  state: "starting" | "started" | "broken" | "replaced";
  forkedAtMs: number;
  heardAtMs: number;
};

/** What the handlers' process is made with. */
export type HandlersProcessOptions = {
  config: Pick<Config, "handlerMemoryMegabytes">;
  clock: Clock;
  log: Log;
  /** The environment, of which it does not get what is not for handlers. */
  environment: NodeJS.ProcessEnv;
  /** The module of the handlers, unless it is receiver/handlers. */
  handlersModule?: URL | undefined;
  /** Where a debugger of the handlers may connect, such as `127.0.0.1:9229`. */
  inspectHandlers?: string | undefined;
  /** Load the handlers anew whenever one of their files changes. */
  watchHandlers?: boolean | undefined;
  fork?: (file: URL, assignment: readonly string[], options: ForkOptions) => ChildProcess;
};

/** Starts a process for the handlers of a module. Throws some of what can go wrong; the rest comes as an event of it. */
export function forkChild(options: HandlersProcessOptions, predecessors: string[]): Child {
  const { config, inspectHandlers: inspect } = options;
  const workerId = createWorkerId();
  const assignment: Assignment = { handlersModule: options.handlersModule?.href, workerId, predecessors };
  const environment = Object.entries(options.environment).filter(([name]) => !NOT_FOR_HANDLERS.has(name));
  const started = (options.fork ?? fork)(
    siblingFile(import.meta.url, "worker"),
    [JSON.stringify(assignment)],
    {
      env: Object.fromEntries(environment),
      execArgv: [
        ...process.execArgv.filter((flag) => !flag.startsWith("--inspect")),
        // Of its JavaScript. Buffers are counted by the supervisor.
        `--max-old-space-size=${String(config.handlerMemoryMegabytes)}`,
        ...(inspect === undefined ? [] : [`--inspect=${inspect}`]),
      ],
    },
  );
  const nowMs = options.clock.monotonicMs();
  return { process: started, workerId, state: "starting", forkedAtMs: nowMs, heardAtMs: nowMs };
}

/** Sends a message; a process that is just dying hears nothing. */
export function tell({ process: child }: Child, message: SupervisorMessage): void {
  if (child.connected) child.send(message, () => undefined);
}

/** A name for a worker, unique among all there ever were; an operator sees by it which machine a job is on. */
export function createWorkerId(): string {
  return `${hostname()}:${randomBytes(8).toString("hex")}`;
}
