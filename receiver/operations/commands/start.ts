import { z } from "zod";
import { localHostInUrl } from "../../../shared/server.ts";
import { systemClock as clock, within } from "../../clock.ts";
import type { Config } from "../../config.ts";
import type { Started } from "../../receiver.ts";
import { openStore } from "../../store/open.ts";
import { createLog, type Log } from "../log.ts";
import { secretsOf } from "../present.ts";
import { EXIT, Refused, type Context, type Outcome, type StartContext } from "./run.ts";

/** The part of SHUTDOWN_TIMEOUT_SECONDS reserved for the last lines of the log. */
const LAST_LINES_MS = 500;
/** At Ctrl-C npm repeats the signal that the terminal has already sent. A signal this soon is not a second press. */
const ECHO_MS = 100;
const EXIT_INTERRUPTED = 130;
/** npm's shell ends at a signal and does not pass it on: if npm started this, the end of the parent counts as one. */
const PARENT = process.ppid;
const LOOK_MS = 500;
const ERRORS = ["uncaughtException", "unhandledRejection"];
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"] as const;

/** Runs the receiver until a signal or a bug ends it. Throws if it cannot start. */
export async function start(
  { config, environment }: StartContext,
  { watch }: { watch?: boolean },
): Promise<undefined> {
  const log = createLog({ level: config.logLevel, secrets: secretsOf(config) });
  const onFatal = (problem: string): void => {
    log.fatal({ problem }, "the receiver ends at once");
    log.flush(() => process.exit(EXIT.somethingIsWrong));
  };
  const store = await openStore({ ...config, clock, isWorker: false, onFatal });
  const { startReceiver } = await import("../../receiver.ts");
  // Keeps the database that this process has opened.
  const { DATABASE_URL } = process.env;
  const handlers = { environment: () => ({ ...environment(), DATABASE_URL }), watchHandlers: watch };
  const starting = startReceiver({ config, store, clock, log, ...handlers });
  // Registered before it starts: whoever reads the line `listening` may stop it at that moment.
  const leaveSignals = stopWhenTold(starting, config, log);
  await starting.catch((error: unknown) => {
    leaveSignals();
    throw error;
  });
}

/**
 * Stops the receiver at the first signal or uncaught error, then ends the process, at the latest after
 * SHUTDOWN_TIMEOUT_SECONDS. A second Ctrl-C or error ends it at once. Returns a function that removes the signal handlers.
 */
function stopWhenTold(starting: Promise<Started>, { shutdownTimeoutMs }: Config, log: Log): () => void {
  let firstMs: number | undefined;
  const stop = async (why: { signal: string } | { err: unknown }): Promise<void> => {
    firstMs = clock.monotonicMs();
    if ("err" in why) log.fatal(why, "a bug: shutting down");
    else log.info(why, "shutting down");
    const stopped = starting.then(async (receiver) => {
      await receiver.stop();
      log.info("stopped");
      return "err" in why ? EXIT.somethingIsWrong : EXIT.ok;
    });
    const exitCode = await within(shutdownTimeoutMs - LAST_LINES_MS, stopped, clock).catch((err: unknown) => {
      log.error({ err }, "stopping failed");
      return undefined;
    });
    const written = new Promise<true>((resolve) => log.flush(() => resolve(true)));
    // If nothing reads the log any more, an ordinary exit might wait for a reader. By now everything is stored.
    if (!(await within(LAST_LINES_MS, written, clock))) process.kill(process.pid, "SIGKILL");
    process.exit(exitCode ?? EXIT.somethingIsWrong);
  };
  const onError = (err: unknown): void => {
    if (firstMs !== undefined) process.exit(EXIT.somethingIsWrong);
    void stop({ err });
  };
  const onSignal = (signal: string): void => {
    if (firstMs === undefined) void stop({ signal });
    else if (signal === "SIGINT" && clock.monotonicMs() - firstMs >= ECHO_MS) process.exit(EXIT_INTERRUPTED);
  };
  for (const event of ERRORS) process.on(event, onError);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const look = (): void => void (process.ppid === PARENT || onSignal("SIGTERM"));
  if (process.env["npm_lifecycle_event"] !== undefined) setInterval(look, LOOK_MS).unref();
  return () => {
    for (const event of ERRORS) process.off(event, onError);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

const HEALTH_LIMIT_MS = 4_000;
const readinessSchema = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) });

/** `health`, for containers: asks the receiver running here with the same settings whether it is healthy. */
export async function health({ config }: Context): Promise<Outcome> {
  const { role, host, port, adminHost, adminPort } = config;
  const [name, number] = role === "worker" ? [adminHost, adminPort] : [host, port];
  const url = `http://${localHostInUrl(name)}:${String(number)}/readyz`;
  const json = await fetch(url, { signal: AbortSignal.timeout(HEALTH_LIMIT_MS) })
    .then(async (response) => readinessSchema.parse(await response.json()))
    .catch(() => {
      const problem = `no receiver answers at ${url}. Start it, with the same settings as here.`;
      throw new Refused(problem, EXIT.couldNotRun);
    });
  const lacking = Object.entries(json.checks).filter(([, check]) => check !== "ok");
  const words = lacking.map(([check, found]) => `${check} ${found}`).join(", ");
  const isReady = json.status === "ready";
  if (isReady && lacking.length === 0) return { json, lines: ["ready"] };
  const line = isReady ? `takes events, but: ${words}` : `not ready: ${words}`;
  return { exitCode: EXIT.somethingIsWrong, json, lines: [line] };
}
