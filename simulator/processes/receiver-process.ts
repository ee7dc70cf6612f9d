import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { shellWord } from "../text/shell-words.ts";
import { addressOf, isListening } from "./listening.ts";
import { createOutputTail } from "./output-tail.ts";
import { groupGone, killGroup, memoryOf, registerGroup, releaseGroup, signalGroup } from "./process-group.ts";
import { userEnvironment } from "./user-environment.ts";

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** Why a receiver could not be started; `message` says what to do, `output` holds its last lines. */
export type StartFailure = {
  ok: false;
  reason: "port_taken" | "not_found" | "died" | "port_shut" | "interrupted";
  message: string;
  output: string[];
};

export type StartResult = { ok: true; receiver: ReceiverProcess } | StartFailure;

/** A receiver's command, running in its own process group. */
export type ReceiverProcess = {
  /** Process id of the command, which is also the id of its group. */
  readonly pid: number;
  readonly command: readonly string[];
  running(): boolean;
  /** Resolves when the running command has ended, for any reason. */
  exited(): Promise<Exit>;
  /** The last lines it wrote to stdout and stderr, oldest first; earlier runs included. */
  output(): string[];
  /** The memory of the command and what it started; undefined where it cannot be read. */
  memoryBytes(): Promise<number | undefined>;
  /** Sends SIGTERM to the whole group, then SIGKILL to its remaining processes after `graceMs` (5 s). */
  stop(options?: { graceMs?: number }): Promise<void>;
  /** SIGKILL to the whole group, at once. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Kills what still runs and starts the same command again, with the same environment. */
  restart(): Promise<StartResult>;
};

export type StartOptions = {
  /** Program and arguments; no shell takes part, but on Windows. */
  command: readonly string[];
  /** Variables set on top of the user's environment, such as PORT and SIGNING_SECRET. */
  env?: Record<string, string>;
  /** Where the receiver will listen; it counts as ready when this address accepts a TCP connection. */
  url: string;
  /** Whether the receiver was found, for a command that may listen at another port than that of `url`. */
  locate?: (() => Promise<boolean>) | undefined;
  readyTimeoutMs?: number;
  /** When aborted, ends the wait and the receiver; has no effect once it listens. */
  signal?: AbortSignal | undefined;
  isNoise?: ((line: string) => boolean) | undefined;
  onLine?: ((line: string, stream: "stdout" | "stderr") => void) | undefined;
};

const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 25;
/** Pause between two searches, each of which connects to several ports. */
const LOCATE_MS = 200;

/** Starts a receiver's command and waits until it accepts connections. Its process group is killed when ours ends. */
export async function startReceiver(options: StartOptions): Promise<StartResult> {
  const address = addressOf(options.url);
  const place = `${address.hostname}:${address.port}`;
  const commandLine = options.command.map(shellWord).join(" ");
  const tail = createOutputTail(options.onLine, options.isNoise);
  const { signal } = options;
  let child: ChildProcess | undefined;
  let exit: Promise<Exit> | undefined;

  async function start(): Promise<StartResult> {
    const [name, ...args] = options.command;
    if (name === undefined) throw new Error("startReceiver: the command is empty");
    if (isInterrupted()) return interrupted();
    if (options.locate === undefined && (await isListening(address)))
      return failure(
        "port_taken",
        `Another process already listens on ${place}. Stop it, or choose another port with --url.`,
      );

    const settings: SpawnOptions = {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      env: { ...userEnvironment(), ...options.env },
    };
    // Windows can start npm.cmd and similar files only in its shell.
    const started =
      process.platform === "win32"
        ? spawn(options.command.map((word) => `"${word}"`).join(" "), { ...settings, shell: true })
        : spawn(name, args, settings);
    // At once: if our process ends while the command starts, the command ends too.
    if (started.pid !== undefined) registerGroup(started.pid);
    const spawnError = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      started.once("spawn", () => resolve(undefined));
      started.once("error", resolve);
    });
    if (spawnError !== undefined || started.pid === undefined)
      return failure("not_found", explainSpawnError(name, spawnError));

    child = started;
    tail.follow(started);
    let ended: Exit | undefined;
    exit = new Promise<Exit>((resolve) => {
      started.once("exit", (code, signal) => {
        ended = { code, signal };
        if (started.pid !== undefined && !signalGroup(started.pid, 0)) releaseGroup(started.pid);
        resolve(ended);
      });
    });

    const readyTimeoutMs = options.readyTimeoutMs ?? READY_TIMEOUT_MS;
    const deadline = performance.now() + readyTimeoutMs;
    while (performance.now() < deadline) {
      if (ended !== undefined) {
        await endWithLastWords(started, started.pid);
        return failure(
          "died",
          `The receiver ended before it listened on ${place} (${describeExit(ended)}). ` +
            `Run it by hand to see why: ${commandLine}`,
        );
      }
      if (await isReady()) return { ok: true, receiver };
      if (isInterrupted()) {
        await killGroup(started.pid);
        return interrupted();
      }
      const pauseMs = options.locate === undefined ? POLL_MS : LOCATE_MS;
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
    await endWithLastWords(started, started.pid);
    return failure(
      "port_shut",
      `The receiver runs, but nothing listened on ${place} within ${readyTimeoutMs / 1_000} s. ` +
        "Let it listen on the port in the variable PORT, or give its address with --url.",
    );
  }

  /** Kills the group first, since remaining processes would keep the pipes open. */
  async function endWithLastWords(started: ChildProcess, group: number): Promise<void> {
    await killGroup(group);
    await tail.drained(started);
  }

  function isReady(): Promise<boolean> {
    return options.locate?.() ?? isListening(address);
  }

  function isInterrupted(): boolean {
    return options.signal?.aborted === true;
  }

  function interrupted(): StartFailure {
    return failure("interrupted", "Interrupted before the receiver listened; it was stopped.");
  }

  function failure(reason: StartFailure["reason"], message: string): StartFailure {
    return { ok: false, reason, message, output: tail.lines() };
  }

  function running(): boolean {
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  const receiver: ReceiverProcess = {
    command: options.command,
    get pid() {
      return child?.pid ?? 0;
    },
    running,
    async exited() {
      return (await exit) ?? { code: null, signal: null };
    },
    output: () => tail.lines(),
    memoryBytes: () => memoryOf(receiver.pid),
    async stop({ graceMs = 5_000 } = {}) {
      if (child?.pid === undefined) return;
      signalGroup(child.pid, "SIGTERM");
      if (!(await groupGone(child.pid, graceMs))) signalGroup(child.pid, "SIGKILL");
      await killGroup(child.pid);
      await exit;
    },
    async kill() {
      if (child?.pid !== undefined) await killGroup(child.pid);
      await exit;
    },
    async restart() {
      if (child?.pid !== undefined) await killGroup(child.pid);
      await exit;
      return start();
    },
  };

  return start();
}

function explainSpawnError(program: string, error: NodeJS.ErrnoException | undefined): string {
  const isFile = program.includes("/") && existsSync(program);
  if (isFile && statSync(program).isDirectory())
    return `${JSON.stringify(program)} is a folder: give the command that starts what is in it.`;
  if (error?.code === "ENOENT" && isFile)
    return `The interpreter of ${JSON.stringify(program)} was not found: correct its first line (with a line end of Unix), or name the interpreter first.`;
  if (error?.code === "ENOENT")
    return (
      `The command ${JSON.stringify(program)} was not found. Give program and arguments as separate words after --, ` +
      "such as: -- node server.js. For shell syntax, write: -- sh -c '…'"
    );
  if (error?.code === "EACCES")
    return `The file ${JSON.stringify(program)} may not be executed. Make it executable (chmod +x), or name its interpreter first.`;
  return `The command ${JSON.stringify(program)} could not be started: ${error?.message ?? "no process id"}.`;
}

export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
