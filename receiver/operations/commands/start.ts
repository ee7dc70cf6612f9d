import { systemClock, within } from "../../clock.ts";
import type { Config } from "../../config.ts";
import { filesOf, openConfigured } from "../../engines/open.ts";
import { createLog, type Log } from "../log.ts";
import { protectFiles } from "../private-files.ts";
import { secretsOf } from "../secrets.ts";
import type { Receiver } from "../../receiver.ts";
import { INSPECT_ADDRESS } from "./arguments.ts";
import { endWithin, stopWhenTold } from "./interrupt.ts";
import { EXIT, Refused } from "./terminal.ts";
import type { Context } from "./with-engine.ts";

/** The part of the time for shutting down that is kept for the last lines of the log. */
const LAST_LINES_MS = 500;

/** Runs the receiver until it is told to stop: by a signal, or by a bug. Throws why it cannot start. */
export async function start(
  { config }: Context,
  options: { inspectHandlers?: string | true; watch?: boolean },
): Promise<undefined> {
  const log = createLog({ level: config.logLevel, secrets: secretsOf(config) });
  protectFiles(await filesOf(config), log);
  const engine = await openConfigured(config);
  // Starts the thread that commits, while the rest is loaded here.
  void engine.intake.probe();
  const { startReceiver } = await import("../../receiver.ts");

  const starting = startReceiver({
    config,
    engine,
    clock: systemClock,
    log,
    environment: process.env,
    inspectHandlers: options.inspectHandlers === true ? INSPECT_ADDRESS : options.inspectHandlers,
    watchHandlers: options.watch,
  });
  // Before it has started: whoever reads the line `listening` may stop it at that moment.
  const leaveSignals = stopInOrder(starting, config, log);
  try {
    await starting;
    return undefined;
  } catch (error) {
    leaveSignals();
    throw describeListenError(error);
  }
}

/** At a signal or at a bug, ends the process when the receiver has stopped, or SHUTDOWN_TIMEOUT_SECONDS have passed. */
function stopInOrder(starting: Promise<Receiver>, { shutdownTimeoutMs }: Config, log: Log): () => void {
  return stopWhenTold(async ({ signal, err }) => {
    endWithin(shutdownTimeoutMs);
    if (err) log.fatal({ err }, "a bug: shutting down");
    else log.info({ signal }, "shutting down");
    const stopped = starting.then(async (started) => {
      await started.stop();
      log.info("stopped");
      await written(log);
      return true;
    });
    const isStopped = await within(shutdownTimeoutMs - LAST_LINES_MS, stopped, systemClock);
    return isStopped && !err ? EXIT.ok : EXIT.somethingIsWrong;
  });
}

/** Resolves when the log is written, also what was on its way; a reader that has stopped reading is not waited for long. */
async function written(log: Log): Promise<void> {
  const flushed = new Promise<void>((resolve) => log.flush(() => resolve()));
  await within(LAST_LINES_MS, flushed, systemClock);
}

/** Why a port cannot be had, and what to do about it; an error of another kind as it is. */
function describeListenError(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  if ("hostname" in error)
    return new Refused(
      `cannot listen at ${String(error.hostname)} (${String(error.code)}). This machine has no such address: choose another HOST or ADMIN_HOST.`,
      EXIT.couldNotRun,
    );
  if (!("port" in error)) return error;
  const fix =
    error.code === "EADDRINUSE"
      ? "Another program listens there: end it, or choose another PORT or ADMIN_PORT."
      : "Choose another HOST, PORT or ADMIN_PORT.";
  return new Refused(
    `cannot listen on port ${String(error.port)} (${String(error.code)}). ${fix}`,
    EXIT.couldNotRun,
  );
}
