import { once } from "node:events";
import type { Metrics } from "../operations/metrics.ts";
import { forkChild, tell, type Child, type HandlersProcessOptions } from "./handlers-process.ts";
import { childMessageSchema, type ChildMessage } from "./messages.ts";
import { watchFiles } from "./watch-files.ts";

/** A process that has not turned its event loop for this long is taken for blocked. */
const SILENCE_MS = 5_000;
/** How long a process may take to start. Ended sooner, it would never come up on a machine that is slow enough. */
const START_MS = 60_000;
const WATCH_MS = 1_000;
const FIRST_RESTART_MS = 100;
const LONGEST_RESTART_MS = 10_000;
/** A process that lived for this long, or handled something, is followed at once. */
const LIVED_MS = 5_000;
/** How many ended processes a new one is told of. Restarts pause so long that the lease of older ones is over. */
const MOST_PREDECESSORS = 20;

/** Of events that are stored within this time, the first and the last wake the process. */
const WAKE_MS = 5;
const MEGABYTE = 1_048_576;
/** How long running handlers may go on once their files have changed. */
const REPLACE_GRACE_MS = 500;

export type Supervisor = {
  /** Whether the handlers' process gave a sign of life lately. */
  alive: () => boolean;
  /** New events are stored: it looks at once. */
  wake: () => void;
  /** Loads the handlers anew, in a new process in place of the one that runs. */
  reload: () => void;
  /** Lets it finish what it is doing, for `graceMs` at the most, and ends it. */
  stop: (graceMs: number) => Promise<void>;
};

/**
 * Keeps one process running for the handlers: starts it again when it dies, with a pause that grows while it
 * handles nothing, ends it when a handler blocks it or takes too much memory, and tells the next one whose claims are free.
 */
export function startSupervisor(
  options: HandlersProcessOptions,
  metrics: () => Pick<Metrics, "handled" | "workerDied">,
): Supervisor {
  const { config, clock, log } = options;
  let current: Child | undefined;
  let predecessors: string[] = [];
  let aliveAtMs: number | undefined;
  let lastProblem: string | undefined;
  let restartMs = FIRST_RESTART_MS;
  let cancelRestart = (): void => undefined;
  let wakes: "none" | "told" | "waiting" = "none";
  let stopping = false;
  const files = options.watchHandlers === true ? watchFiles(reload, clock) : undefined;
  start();
  let cancelWatch = clock.after(WATCH_MS, watch);

  return {
    alive: () => aliveAtMs !== undefined && clock.monotonicMs() - aliveAtMs < SILENCE_MS,
    wake,
    reload,
    stop,
  };

  function start(): void {
    cancelRestart();
    try {
      const child = forkChild(options, predecessors);
      current = child;
      child.process.on("message", (message) => hear(child, message));
      child.process.on("error", (error) => log.error({ err: error }, "the handlers' process has trouble"));
      // Not `exit`, which may come before the last message. A process that could not be started says `close`, too.
      child.process.on("close", (code, signal) => closed(child, { code, signal }));
    } catch (error) {
      // Some of what can go wrong is thrown, as without memory; the rest is an event.
      log.error({ err: error, restart_in_ms: restartMs }, "the handlers' process cannot be started");
      restart();
    }
  }

  /** Messages of other forms are those that a handler's dependency sends to its parent. */
  function hear(child: Child, message: unknown): void {
    const { data: said } = childMessageSchema.safeParse(message);
    if (!said) return;
    child.heardAtMs = clock.monotonicMs();
    if (said.kind === "alive") keepAlive(child, said);
    else if (child.state === "starting") {
      child.state = said.kind;
      // No files where it ended before it loaded handlers, as without a database: those from before are watched.
      if (said.files.length > 0) files?.follow(said.files);
      const problem = said.kind === "broken" ? said.problem : undefined;
      if (problem === undefined) aliveAtMs = child.heardAtMs;
      else if (problem !== lastProblem)
        log.error(
          { problem },
          "the handlers cannot be started; events go on being accepted, and it is tried again",
        );
      lastProblem = problem;
    }
  }

  function keepAlive(child: Child, { ended, memoryBytes }: Extract<ChildMessage, { kind: "alive" }>): void {
    aliveAtMs = child.heardAtMs;
    metrics().handled(ended);
    if (ended.length > 0 || child.heardAtMs - child.forkedAtMs >= LIVED_MS) restartMs = FIRST_RESTART_MS;
    if (memoryBytes <= config.handlerMemoryMegabytes * MEGABYTE) return;
    log.error(
      { bytes: memoryBytes },
      "handlers take more than HANDLER_MEMORY_MEGABYTES; ending their process",
    );
    child.process.kill("SIGKILL");
  }

  function closed({ state, workerId }: Child, how: object): void {
    current = undefined;
    predecessors = [...predecessors, workerId].slice(-MOST_PREDECESSORS);
    if (stopping) return;
    if (state === "replaced") return start();
    aliveAtMs = undefined;
    metrics().workerDied();
    if (state !== "broken")
      log.error(
        { ...how, restart_in_ms: restartMs },
        "the handlers' process died; events go on being accepted",
      );
    restart();
  }

  function restart(): void {
    cancelRestart = clock.after(restartMs, start);
    restartMs = Math.min(restartMs * 2, LONGEST_RESTART_MS);
  }

  function reload(): void {
    if (stopping) return;
    restartMs = FIRST_RESTART_MS;
    if (!current) return start();
    if (current.state === "replaced") return;
    current.state = "replaced";
    log.info("the handlers have changed; those that are new take over");
    end(current, REPLACE_GRACE_MS);
  }

  /** Tells a process to finish its jobs and end. A second after its grace it is killed. */
  function end(child: Child, graceMs: number): () => void {
    tell(child, { kind: "drain", graceMs });
    return clock.after(graceMs + 1_000, () => child.process.kill("SIGKILL"));
  }

  function wake(): void {
    if (wakes !== "none") wakes = "waiting";
    else if (current?.state === "started") {
      tell(current, { kind: "wake" });
      wakes = "told";
      clock.after(WAKE_MS, () => {
        const again = wakes === "waiting";
        wakes = "none";
        if (again) wake();
      });
    }
  }

  function watch(): void {
    cancelWatch = clock.after(WATCH_MS, watch);
    // A process that stands at a breakpoint is silent, too.
    if (!current || options.inspectHandlers !== undefined) return;
    const silentMs = clock.monotonicMs() - current.heardAtMs;
    const isStarting = current.state === "starting";
    if (silentMs <= (isStarting ? START_MS : SILENCE_MS)) return;
    log.error(
      { silent_ms: Math.round(silentMs) },
      isStarting
        ? "the handlers' process does not start; ending it"
        : "a handler blocks its process; ending it",
    );
    current.process.kill("SIGKILL");
    current.heardAtMs = clock.monotonicMs();
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true;
    cancelWatch();
    cancelRestart();
    files?.stop();
    if (!current) return;
    const isClosed = once(current.process, "close");
    const cancel = end(current, graceMs);
    await isClosed;
    cancel();
  }
}
