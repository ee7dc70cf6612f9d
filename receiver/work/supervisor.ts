import { within, type Clock } from "../clock.ts";
import type { Log } from "../operations/log.ts";
import { forkChild, isRunning, load, tell, type Child, type Fork } from "./handlers-process.ts";
import { childMessageSchema, type ChildMessage, type EndedAttempt } from "./messages.ts";

/** How long the process may not turn its event loop before it is taken for blocked. */
const SILENCE_MS = 5_000;
/** How long it may take to start: with a short limit it would never come up on a slow machine. */
const START_MS = 60_000;
const WATCH_MS = 1_000;
const FIRST_RESTART_MS = 100;
const LONGEST_RESTART_MS = 10_000;
/** After one that lived for so long, or handled something, the pause before the next is the first again. */
const LIVED_MS = 5_000;

/** Events that are stored within this time wake the process twice at the most. */
const WAKE_MS = 5;
const MEGABYTE = 1_048_576;
/** How long running handlers may go on when new ones take over. */
const REPLACE_GRACE_MS = 500;

export type Supervisor = {
  /** Whether the handlers' process gave a sign of life lately. */
  alive: () => boolean;
  /** New events are stored: it looks at once. */
  wake: () => void;
  /** Loads the handlers anew in a second process, which takes over when they can be used; until then the first goes on. */
  reload: () => void;
  /** Lets it finish what it is doing, for `graceMs` at the most, and ends it. */
  stop: (graceMs: number) => Promise<void>;
};

/**
 * Keeps one process running for the handlers: starts it again when it dies, with a pause that grows as long as it dies
 * early, ends it when a handler blocks it, and tells the next one whose claims are free then.
 */
export function startSupervisor(options: {
  environment: NodeJS.ProcessEnv;
  handlersModule?: URL | undefined;
  /** Memory that handlers may take, in their JavaScript and in buffers. One that wants more ends its own process only. */
  memoryMegabytes: number;
  /** Lets a debugger stop in a handler, on this address. */
  inspect?: string | undefined;
  clock: Clock;
  log: Log;
  onEnded: (attempts: readonly EndedAttempt[]) => void;
  onDeath: () => void;
  /** Has a second process ready for the next `reload`, in which only the handlers are missing. */
  keepsSpare?: boolean | undefined;
  /** The files that the handlers came from, or that could not be used, each time that they are loaded. */
  onFiles?: ((files: readonly string[]) => void) | undefined;
  fork?: Fork | undefined;
}): Supervisor {
  const { clock, log, inspect } = options;
  let current: Child | undefined;
  /** Loads the handlers that take over from those of `current`. */
  let next: Child | undefined;
  /** While handlers are being changed: has loaded all but them, which takes most of the time of a start. */
  let spare: Child | undefined;
  /** Workers that are gone, until a worker that was told of them has started. */
  let gone: string[] = [];
  let aliveAtMs: number | undefined;
  let lastProblem: string | undefined;
  let restartMs = FIRST_RESTART_MS;
  let cancelRestart = (): void => undefined;
  let wakes: "none" | "told" | "waiting" = "none";
  let stopping = false;
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
    current = load(startProcess());
    if (!current) restart();
  }

  /** Undefined where that cannot be done, as without memory: some of what can go wrong is thrown, the rest is an event. */
  function startProcess(): Child | undefined {
    try {
      const child = forkChild({ ...options, nowMs: clock.monotonicMs() });
      child.process.on("message", (message) => onMessage(child, message));
      child.process.on("error", (error) => log.error({ err: error }, "the handlers' process has trouble"));
      // Not `exit`, which may come before its last message. A process that could not be started emits `close`, too.
      child.process.on("close", (code, signal) => closed(child, { code, signal }));
      return child;
    } catch (error) {
      log.error({ err: error, restart_in_ms: restartMs }, "the handlers' process cannot be started");
      return undefined;
    }
  }

  /** Messages that a handler's dependency sends to its parent come here too: those that are not ours are ignored. */
  function onMessage(child: Child, message: unknown): void {
    const { data: told } = childMessageSchema.safeParse(message);
    // A spare process that cannot start is not missed: the next reload starts another.
    if (!told || child === spare) return;
    child.heardAtMs = clock.monotonicMs();
    if (told.kind === "ready") ready(child, told.files);
    else if (told.kind === "broken") broken(child, told);
    else if (told.kind === "started") {
      child.state = "started";
      aliveAtMs = child.heardAtMs;
      if (options.keepsSpare === true) spare ??= startProcess();
      gone = gone.filter((id) => !child.predecessors.includes(id));
    } else keepAlive(child, told);
  }

  function ready(child: Child, files: readonly string[]): void {
    options.onFiles?.(files);
    lastProblem = undefined;
    if (child.state !== "loading") return;
    child.state = "ready";
    if (child === current) begin(child);
    else if (child === next && current) replace(current);
  }

  function begin(child: Child): void {
    child.state = "begun";
    child.predecessors = [...gone];
    tell(child, { kind: "begin", predecessors: [...gone] });
  }

  function replace(old: Child): void {
    old.state = "replaced";
    log.info("the handlers have changed; those that are new take over");
    tell(old, { kind: "drain", graceMs: REPLACE_GRACE_MS });
    clock.after(REPLACE_GRACE_MS + 1_000, () => old.process.kill("SIGKILL"));
  }

  function broken(child: Child, { problem, files }: Extract<ChildMessage, { kind: "broken" }>): void {
    child.isBroken = true;
    // Empty where no handler was loaded, as without a database: then the files from before are watched on.
    if (files.length > 0) options.onFiles?.(files);
    if (child === next)
      log.error({ problem }, "the changed handlers cannot be used; those from before go on");
    else if (problem !== lastProblem)
      log.error(
        { problem },
        "the handlers cannot be started; events go on being accepted, and it is tried again",
      );
    lastProblem = problem;
  }

  function keepAlive(child: Child, { ended, memoryBytes }: Extract<ChildMessage, { kind: "alive" }>): void {
    if (child !== current) return;
    aliveAtMs = child.heardAtMs;
    if (ended.length > 0) options.onEnded(ended);
    if (ended.length > 0 || child.heardAtMs - child.forkedAtMs >= LIVED_MS) restartMs = FIRST_RESTART_MS;
    if (memoryBytes <= options.memoryMegabytes * MEGABYTE) return;
    log.error(
      { bytes: memoryBytes },
      "handlers take more than HANDLER_MEMORY_MEGABYTES; ending their process",
    );
    child.process.kill("SIGKILL");
  }

  function closed(child: Child, how: object): void {
    if (child.state !== "loading" && child.state !== "ready") gone.push(child.workerId);
    if (child === spare) spare = undefined;
    if (child === next) {
      next = undefined;
      if (!child.isBroken) log.error(how, "the changed handlers cannot be used; those from before go on");
    }
    if (child !== current || stopping) return;
    const wasReplaced = child.state === "replaced";
    current = next;
    next = undefined;
    if (!wasReplaced) aliveAtMs = undefined;
    if (!wasReplaced) options.onDeath();
    const why = { ...how, restart_in_ms: restartMs };
    if (!wasReplaced && !child.isBroken)
      log.error(why, "the handlers' process died; events go on being accepted");
    if (current?.state === "ready") begin(current);
    else if (!current) restart();
  }

  function restart(): void {
    cancelRestart = clock.after(restartMs, () => {
      if (!stopping) start();
    });
    restartMs = Math.min(restartMs * 2, LONGEST_RESTART_MS);
  }

  function reload(): void {
    if (stopping) return;
    restartMs = FIRST_RESTART_MS;
    if (!current) return start();
    next?.process.kill("SIGKILL");
    next = load(spare ?? startProcess());
    if (next) next.heardAtMs = clock.monotonicMs();
    spare = undefined;
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
    for (const child of [current, next]) if (child && isRunning(child)) watchOne(child);
    cancelWatch = clock.after(WATCH_MS, watch);
  }

  function watchOne(child: Child): void {
    if (inspect !== undefined) return;
    const silentMs = clock.monotonicMs() - child.heardAtMs;
    const isStarting = child.state !== "started" && child.state !== "replaced";
    if (silentMs <= (isStarting ? START_MS : SILENCE_MS)) return;
    log.error(
      { silent_ms: Math.round(silentMs) },
      isStarting
        ? "the handlers' process does not start; ending it. Does an import or createServices() wait for something?"
        : "a handler blocks its process; ending it",
    );
    child.process.kill("SIGKILL");
    child.heardAtMs = clock.monotonicMs();
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true;
    cancelWatch();
    cancelRestart();
    for (const child of [next, spare]) child?.process.kill("SIGKILL");
    if (!current || !isRunning(current)) return;
    const stopped = current.process;
    const exited = new Promise<void>((resolve) => stopped.once("exit", () => resolve()));
    tell(current, { kind: "drain", graceMs });
    // A second more, in which it returns its claims.
    await within(graceMs + 1_000, exited, clock);
    stopped.kill("SIGKILL");
    await exited;
  }
}
