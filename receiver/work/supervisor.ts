import { fork, type ChildProcess, type ForkOptions } from "node:child_process";
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers";
import { within, type Clock } from "../clock.ts";
import type { Log } from "../operations/log.ts";
import { childMessageSchema, type Ended, type Order } from "./messages.ts";
import { changedAtMs, siblingFile } from "./module.ts";

/** How long a process may block its event loop, and how long it may take to start. */
const SILENCE_MS = 5_000;
const START_MS = 60_000;
const WATCH_MS = 1_000;
/** The first and the longest pause before a restart, if the last process lived for less than `LIVED_MS`. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const LIVED_MS = 5_000;
/** Events stored within this time wake the process once. */
const WAKE_MS = 5;
/** How often files are polled, and how long handlers may run after a change. */
const FILES_MS = 200;
const CHANGE_GRACE_MS = 500;
/** How long a drain may take beyond its grace. */
const CLOSING_MS = 1_000;

export type Status = { state: "starting" | "working" | "broken" | "restarting"; problem?: string };

export type SupervisorOptions = {
  environment: () => NodeJS.ProcessEnv;
  /** The module of the handlers, if it is not receiver/handlers. */
  handlersModule?: URL | undefined;
  /** How much memory handlers may use, beyond that of their process without them. */
  memoryMegabytes: number;
  /** Start another process when a file of the handlers, or `.env`, changes. */
  watch?: boolean | undefined;
  clock: Clock;
  log: Log;
  /** The jobs that were running when a process died, from the ledger. */
  running: () => Promise<readonly { handler: string; id: string }[]>;
  onEnded: (attempts: readonly Ended[]) => void;
  onDeath: () => void;
  /** Gets the lines that the process prints. Default: standard output. */
  onLine?: ((line: string) => void) | undefined;
  fork?: (file: URL, args: string[], options: ForkOptions) => ChildProcess;
};

export type Supervisor = ReturnType<typeof startSupervisor>;

/** Keeps one process for the handlers running: restarts it when it dies, and kills it when it blocks or grows too large. */
export function startSupervisor(options: SupervisorOptions) {
  const { clock, log, memoryMegabytes, onLine } = options;
  const module = options.handlersModule ?? siblingFile(import.meta.url, "../handlers/index");
  let child: ChildProcess | undefined;
  let status: Status = { state: "starting" };
  /** The time since when no process has worked. */
  let awaySinceMs = clock.nowMs();
  let startedAtMs = 0;
  let heardAtMs = 0;
  /** Relative paths of the database and of secrets start here: an app may change its own directory later. */
  const cwd = process.cwd();
  let isWorking = false;
  /** Why the process ends; undefined if unknown. */
  let why: "broken" | "changed" | "stopped" | { text: string } | undefined;
  let pauseMs = 0;
  let isWakeDue = false;
  /** When the files were changed that the process has loaded. */
  let files: Readonly<Record<string, number>> = {};
  let settingsAtMs = 0;
  let cancelStart = (): void => undefined;
  let cancelWatch = clock.after(WATCH_MS, watch);
  let cancelLook = options.watch === true ? clock.after(FILES_MS, look) : () => undefined;
  start();

  return { wake, stop, status: (): Status => status };

  function start(): void {
    startedAtMs = heardAtMs = clock.monotonicMs();
    isWorking = false;
    why = undefined;
    if (options.watch === true) settingsAtMs = changedAtMs(".env");
    try {
      const words = [module.href, String(awaySinceMs)];
      const started = (options.fork ?? fork)(siblingFile(import.meta.url, "process"), words, {
        cwd,
        ...(onLine && { stdio: ["inherit", "pipe", "inherit", "ipc"] }),
        // Other users of the machine could write into tsx's cache.
        env: { ...options.environment(), TSX_DISABLE_CACHE: "1" },
        execArgv: [
          ...process.execArgv.filter((flag) => !flag.startsWith("--inspect")),
          `--max-old-space-size=${String(memoryMegabytes)}`,
        ],
      });
      if (onLine && started.stdout) createInterface(started.stdout).on("line", onLine);
      started.on("message", onMessage);
      // A program that a handler has started may keep the pipe open: without this, `close` would wait for its end.
      started.on("exit", () => clock.after(CLOSING_MS, () => started.stdout?.destroy()));
      started.on("error", (error) => log.error({ err: error }, "the handlers' process failed"));
      // Not `exit`, which may precede its last message. `close` is also emitted if the process could not start.
      started.on("close", (code, signal) => void onClose({ code, signal }));
      child = started;
    } catch (error) {
      broken(error instanceof Error ? error.message : String(error));
      restart();
    }
  }

  /** A handler's dependency may send messages too: unknown ones are ignored. */
  function onMessage(given: unknown): void {
    const { data: message } = childMessageSchema.safeParse(given);
    if (!message) return;
    heardAtMs = clock.monotonicMs();
    if (message.kind === "alive") {
      isWorking = message.isWorking;
      if (message.ended.length > 0) options.onEnded(message.ended);
      if (message.memoryBytes > memoryMegabytes * 1_048_576)
        kill("handlers take more than HANDLER_MEMORY_MEGABYTES");
      return;
    }
    if (Object.keys(message.files).length > 0) files = { ...message.files, ".env": settingsAtMs };
    if (message.kind === "ready") return void (status = { state: "working" });
    broken(message.problem);
    why ??= "broken";
  }

  function broken(problem: string): void {
    if (status.problem !== problem && why !== "stopped")
      log.error({ problem }, "the handlers cannot be started; events are stored, and it tries again");
    status = { state: "broken", problem };
  }

  async function onClose(how: { code: number | null; signal: string | null }): Promise<void> {
    child = undefined;
    if (isWorking) awaySinceMs = clock.nowMs();
    if (why === "stopped") return;
    if (why === "changed") return start();
    restart();
    if (why === "broken") return;
    status = { state: "restarting" };
    options.onDeath();
    const text = why?.text ?? "the handlers' process died; events are stored, and it starts again";
    const jobs =
      (await within(
        WATCH_MS,
        options.running().catch(() => []),
        clock,
      )) ?? [];
    const [{ handler, id } = {}] = jobs;
    const names = { running: jobs.map((job) => `${job.handler} ${job.id}`) };
    log.error({ ...how, ...(jobs.length === 1 ? { handler, event_id: id } : names) }, text);
  }

  function restart(): void {
    const hasLived = clock.monotonicMs() - startedAtMs >= LIVED_MS;
    pauseMs = hasLived ? 0 : Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
    cancelStart = clock.after(pauseMs, start);
  }

  function watch(): void {
    cancelWatch = clock.after(WATCH_MS, watch);
    // Only after the messages of the process are read: this process may have been busy itself.
    setImmediate(judge);
  }

  function judge(): void {
    const silentMs = clock.monotonicMs() - heardAtMs;
    if (silentMs <= (isWorking ? SILENCE_MS : START_MS)) return;
    kill(
      isWorking
        ? "a handler blocks its process; it is ended"
        : "the handlers' process does not start; does an import or createServices() wait for something?",
    );
  }

  function kill(text: string): void {
    why ??= { text };
    child?.kill("SIGKILL");
  }

  /** Polls the files. A change made while the process starts counts too: it may have loaded what was there before. */
  function look(): void {
    cancelLook = clock.after(FILES_MS, look);
    const before = files;
    files = Object.fromEntries(Object.keys(before).map((file) => [file, changedAtMs(file)]));
    if (why === "changed" || Object.keys(files).every((file) => files[file] === before[file])) return;
    log.info("a file of the handlers has changed");
    pauseMs = 0;
    cancelStart();
    if (!child) return start();
    why = "changed";
    void end(child, CHANGE_GRACE_MS);
  }

  /** New events were stored: makes the process look for jobs at once. */
  function wake(): void {
    if (isWakeDue) return;
    isWakeDue = true;
    clock.after(WAKE_MS, () => {
      isWakeDue = false;
      send({ kind: "wake" });
    });
  }

  function send(order: Order): void {
    if (child?.connected === true) child.send(order, () => undefined);
  }

  async function end(ending: ChildProcess, graceMs: number): Promise<void> {
    const ended = new Promise((resolve) => ending.once("close", resolve));
    send({ kind: "drain", graceMs });
    await within(graceMs + CLOSING_MS, ended, clock);
    ending.kill("SIGKILL");
    await ended;
  }

  /** Lets running jobs finish, for at most `graceMs`, and ends the process. */
  async function stop(graceMs: number): Promise<void> {
    why = "stopped";
    cancelWatch();
    cancelStart();
    cancelLook();
    if (child) await end(child, graceMs);
  }
}
