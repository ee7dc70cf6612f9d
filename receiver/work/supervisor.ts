import { fork, type ChildProcess, type ForkOptions } from "node:child_process";
import type { Clock } from "../clock.ts";
import type { HandlingReport } from "../operations/handling-metrics.ts";
import type { Log } from "../operations/log.ts";
import { siblingFile } from "../sibling-file.ts";
import { childMessageSchema, type SupervisorMessage } from "./messages.ts";

/** How long after a handler's deadline the process may stay silent before it is taken for blocked. */
const SILENCE_MS = 5_000;
/** How long it may take to start at the least: ended before, it would never come up on a machine that is slow enough. */
const START_MS = 60_000;

const WATCH_MS = 1_000;
const FIRST_RESTART_MS = 100;
const LONGEST_RESTART_MS = 10_000;

export type Supervisor = {
  /** Whether the handlers' process gave a sign of life lately. */
  alive: () => boolean;
  /** Lets it finish what it is doing, for `graceMs` at the most, and ends it. */
  stop: (graceMs: number) => Promise<void>;
};

/**
 * Keeps one process running for the handlers: starts it again when it dies, ends it when a handler blocks it beyond its
 * deadline, and says whose claims are free then. `onDeath` gets the id of the dead worker, if it ever said one.
 */
export function startSupervisor(options: {
  environment: NodeJS.ProcessEnv;
  handlerTimeoutMs: number;
  /** Memory of its JavaScript. A handler that wants more ends its own process only. */
  memoryMegabytes: number;
  /** Lets a debugger stop in a handler: on this address, and for as long as it takes. */
  inspect?: string | undefined;
  clock: Clock;
  log: Log;
  onReport: (report: HandlingReport) => void;
  onDeath: (workerId: string | undefined) => void;
  /** Another entry point, with other handlers; for tests. */
  workerFile?: URL | undefined;
  /** What starts a process; for tests of one that cannot be started. */
  fork?: ((file: URL, options: ForkOptions) => ChildProcess) | undefined;
}): Supervisor {
  const { clock, log, inspect } = options;
  const silenceLimitMs = inspect === undefined ? options.handlerTimeoutMs + SILENCE_MS : Infinity;
  let child: ChildProcess | undefined;
  let workerId: string | undefined;
  let heardAtMs = clock.monotonicMs();
  let stopping = false;
  let restartMs = FIRST_RESTART_MS;
  let cancelWatch = (): void => undefined;
  start();
  watch();

  return {
    // One that dies before it has said that it started is not alive, however often it is started.
    alive: () => workerId !== undefined && clock.monotonicMs() - heardAtMs < SILENCE_MS,
    stop,
  };

  function start(): void {
    heardAtMs = clock.monotonicMs();
    workerId = undefined;
    try {
      child = startProcess();
      watchEnd(child);
    } catch (error) {
      // Out of memory, for one: Node.js throws some of what can go wrong, and says the rest as an event.
      restart({ err: error });
    }
  }

  function startProcess(): ChildProcess {
    return (options.fork ?? fork)(options.workerFile ?? siblingFile(import.meta.url, "worker"), {
      env: options.environment,
      execArgv: [
        ...process.execArgv.filter((flag) => !flag.startsWith("--inspect")),
        `--max-old-space-size=${String(options.memoryMegabytes)}`,
        ...(inspect === undefined ? [] : [`--inspect=${inspect}`]),
      ],
    });
  }

  function watchEnd(started: ChildProcess): void {
    started.on("message", hear);
    started.on("error", (error) => log.error({ err: error }, "the handlers' process has trouble"));
    // And not `exit`, which may come before the last that it said: its name, without which nothing can be released. One
    // that could not be started says `close`, too.
    started.on("close", (code, signal) => {
      if (!stopping) restart({ code, signal });
    });
  }

  /** Whatever a handler's dependency may send to its parent comes here too, and is none of our business. */
  function hear(message: unknown): void {
    const said = childMessageSchema.safeParse(message);
    if (!said.success) return;
    heardAtMs = clock.monotonicMs();
    if (said.data.kind === "alive") return options.onReport(said.data.handling);
    workerId = said.data.workerId;
    restartMs = FIRST_RESTART_MS;
  }

  function restart(why: object): void {
    log.error(
      { ...why, restart_in_ms: restartMs },
      "the handlers' process died; events go on being accepted",
    );
    options.onDeath(workerId);
    workerId = undefined;
    clock.after(restartMs, () => {
      if (!stopping) start();
    });
    restartMs = Math.min(restartMs * 2, LONGEST_RESTART_MS);
  }

  function watch(): void {
    const silentMs = clock.monotonicMs() - heardAtMs;
    const limitMs = workerId === undefined ? Math.max(START_MS, silenceLimitMs) : silenceLimitMs;
    if (child?.exitCode === null && silentMs > limitMs) {
      log.error({ silent_ms: Math.round(silentMs) }, "a handler blocks its process; ending it");
      child.kill("SIGKILL");
      heardAtMs = clock.monotonicMs();
    }
    cancelWatch = clock.after(WATCH_MS, watch);
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true;
    cancelWatch();
    const stopped = child;
    if (stopped?.pid === undefined || stopped.exitCode !== null || stopped.signalCode !== null) return;
    const patience = new AbortController();
    const exited = new Promise<void>((resolve) => stopped.once("exit", () => resolve()));
    void exited.then(() => patience.abort());
    // One that is just dying hears nothing.
    if (stopped.connected)
      stopped.send({ kind: "drain", graceMs } satisfies SupervisorMessage, () => undefined);
    // A little more than it takes: it has its claims to return.
    await Promise.race([exited, clock.sleep(graceMs + 1_000, patience.signal)]);
    stopped.kill("SIGKILL");
    await exited;
  }
}
