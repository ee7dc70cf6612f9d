import closeWithGrace from "close-with-grace";
import { systemClock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import { filesOf } from "../../engines/open.ts";
import { createLog } from "../log.ts";
import { exposedFiles, makePrivate } from "../private-files.ts";
import { secretsOf } from "../secrets.ts";
import { startReceiver } from "../../receiver.ts";
import { EXIT } from "./exit-codes.ts";
import { endAtSecondInterrupt, endWithin } from "./interrupt.ts";
import type { Terminal } from "./terminal.ts";
import { openEngineOrComplain } from "./with-engine.ts";

/** Of the time for shutting down, what is left to the last lines of the log. */
const LAST_LINES_MS = 500;

/** Where a debugger looks first. */
const INSPECT_ADDRESS = "127.0.0.1:9229";

/** Runs the receiver until it is told to stop: by SIGTERM, SIGINT, or the end of its world. Answers the exit code of a failed start. */
export async function start(
  config: Config,
  options: { inspectHandlers?: string | true },
  terminal: Terminal,
): Promise<number | undefined> {
  const log = createLog({ level: config.logLevel, secrets: secretsOf(config) });
  for (const file of exposedFiles(await filesOf(config)))
    log.warn({ file, mended: makePrivate(file) }, "others than its owner could read this file");
  const engine = await openEngineOrComplain(config, terminal);
  if (!engine) return EXIT.couldNotRun;

  const started = await startReceiver({
    config,
    engine,
    clock: systemClock,
    log,
    environment: process.env,
    inspectHandlers: options.inspectHandlers === true ? INSPECT_ADDRESS : options.inspectHandlers,
  }).catch((error: unknown) => describeListenError(error, terminal));
  if (!started) return EXIT.couldNotRun;

  const delay = config.shutdownTimeoutMs - LAST_LINES_MS;
  closeWithGrace({ delay, logger: false }, async ({ signal, err }) => {
    endWithin(config.shutdownTimeoutMs);
    if (err) log.fatal({ err }, "a bug: shutting down");
    else log.info({ signal }, "shutting down");
    endAtSecondInterrupt();
    await started.stop();
    log.info("stopped");
  });
  return undefined;
}

function describeListenError(error: unknown, terminal: Terminal): undefined {
  if (!(error instanceof Error) || !("code" in error)) throw error;
  if ("hostname" in error) {
    terminal.complain(
      `cannot listen at ${String(error.hostname)} (${String(error.code)}). This machine has no such address: choose another HOST or ADMIN_HOST.`,
    );
    return undefined;
  }
  if (!("port" in error)) throw error;
  const fix =
    error.code === "EADDRINUSE"
      ? "Another program listens there: end it, or choose another PORT or ADMIN_PORT."
      : "Choose another HOST, PORT or ADMIN_PORT.";
  terminal.complain(`cannot listen on port ${String(error.port)} (${String(error.code)}). ${fix}`);
  return undefined;
}
