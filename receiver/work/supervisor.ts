import { fork, type ChildProcess } from "node:child_process";
import type { Clock } from "../clock.ts";
import type { Handled } from "../engine.ts";
import type { Log } from "../operations/log.ts";
import { workerMessageSchema, type SupervisorMessage } from "./messages.ts";

/** Memory of the worker's JavaScript. A handler that wants more ends its own process only. */
const WORKER_MEMORY_MEGABYTES = 512;

/** How long after a handler's deadline a worker may stay silent before it is taken for blocked. */
const SILENCE_MS = 5_000;

const FIRST_RESTART_MS = 100;
const LONGEST_RESTART_MS = 10_000;

/** The file of the worker, with the extension of the file that is running: `.ts` from the sources, `.js` once built. */
const WORKER_FILE = new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export type Supervisor = {
  /** There is something to do. */
  wake: () => void;
  /** Whether the worker gave a sign of life lately. */
  alive: () => boolean;
  /** Lets the worker finish what it is doing, for `graceMs` at the most, and ends it. */
  stop: (graceMs: number) => Promise<void>;
};

/**
 * Keeps one worker process running: starts it again when it dies, ends it when a handler blocks it beyond its deadline,
 * and says whose claims are free then. `onDeath` gets the id of the dead worker.
 */
export function startSupervisor(options: {
  environment: NodeJS.ProcessEnv;
  handlerTimeoutMs: number;
  clock: Clock;
  log: Log;
  onHandled: (handled: Handled) => void;
  onDeath: (workerId: string) => void;
  /** Another entry point, with other handlers; for tests. */
  workerFile?: URL;
}): Supervisor {
  const { clock, log } = options;
  const silenceLimitMs = options.handlerTimeoutMs + SILENCE_MS;
  let worker: ChildProcess | undefined;
  let workerId: string | undefined;
  let heardAtMs = clock.monotonicMs();
  let stopping = false;
  let restartMs = FIRST_RESTART_MS;
  let cancel = (): void => undefined;
  start();
  watch();

  return {
    wake: () => tell({ kind: "wake" }),
    // One that dies before it has said that it started is not alive, however often it is started.
    alive: () => workerId !== undefined && clock.monotonicMs() - heardAtMs < SILENCE_MS,
    stop,
  };

  function start(): void {
    heardAtMs = clock.monotonicMs();
    workerId = undefined;
    const started = fork(options.workerFile ?? WORKER_FILE, {
      env: options.environment,
      execArgv: [...process.execArgv, `--max-old-space-size=${String(WORKER_MEMORY_MEGABYTES)}`],
    });
    worker = started;
    started.on("message", (message) => {
      heardAtMs = clock.monotonicMs();
      const said = workerMessageSchema.parse(message);
      if (said.kind === "started") {
        workerId = said.workerId;
        restartMs = FIRST_RESTART_MS;
      }
      if (said.kind === "handled") {
        const { error, ...handled } = said.handled;
        options.onHandled(error === undefined ? handled : { ...handled, error });
      }
    });
    started.on("error", (error) => log.error({ err: error }, "the worker process has trouble"));
    started.on("exit", (code, signal) => {
      if (stopping) return;
      log.error(
        { code, signal, restart_in_ms: restartMs },
        "the worker process died; events go on being accepted",
      );
      if (workerId !== undefined) options.onDeath(workerId);
      workerId = undefined;
      clock.after(restartMs, () => {
        if (!stopping) start();
      });
      restartMs = Math.min(restartMs * 2, LONGEST_RESTART_MS);
    });
  }

  function tell(message: SupervisorMessage): void {
    // A worker that is just dying will look at the inbox as soon as it is back.
    if (worker?.connected === true) worker.send(message, () => undefined);
  }

  function watch(): void {
    if (worker?.exitCode === null && clock.monotonicMs() - heardAtMs > silenceLimitMs) {
      log.error(
        { silent_ms: Math.round(clock.monotonicMs() - heardAtMs) },
        "a handler blocks the worker process; ending it",
      );
      worker.kill("SIGKILL");
      heardAtMs = clock.monotonicMs();
    }
    cancel = clock.after(1_000, watch);
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true;
    cancel();
    const stopped = worker;
    if (!stopped || stopped.exitCode !== null || stopped.signalCode !== null) return;
    const patience = new AbortController();
    const exited = new Promise<void>((resolve) => stopped.once("exit", () => resolve()));
    void exited.then(() => patience.abort());
    tell({ kind: "drain", graceMs });
    // A little more than the worker takes: it has its claims to return.
    await Promise.race([exited, clock.sleep(graceMs + 1_000, patience.signal)]);
    stopped.kill("SIGKILL");
    await exited;
  }
}
