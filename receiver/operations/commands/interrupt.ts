import { EXIT } from "./terminal.ts";
import { Worker } from "node:worker_threads";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** What a shell shows of a program that Ctrl-C ended. */
const EXIT_INTERRUPTED = 130;
/** At Ctrl-C npm passes on the signal that the terminal has sent already: one that comes so soon is no second press. */
const ECHO_MS = 100;

/**
 * Does `work`, which Ctrl-C or SIGTERM ends at once, after `sayHowFar`. What is stored by then is whole, as after a crash,
 * so that nothing has to be waited for.
 */
export async function interruptible<Result>(
  sayHowFar: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const interrupt = (): void => {
    sayHowFar();
    process.exit(EXIT.couldNotRun);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

/** What tells a receiver to stop. */
const STOP_SIGNALS = [...SIGNALS, "SIGHUP", "SIGQUIT", "SIGUSR2"] as const;
const ERRORS = ["uncaughtException", "unhandledRejection"] as const;

/**
 * Has `stop` called once, at the first such signal or at an error that nobody caught, and ends the process with the exit
 * code that it answers. Meanwhile a second Ctrl-C ends it at once, as another error does; further signals, such as npm and
 * supervisors send, are no reason to break requests. Answers how to leave signals and errors to Node.js again.
 */
export function stopWhenTold(stop: (why: { signal?: string; err?: unknown }) => Promise<number>): () => void {
  let firstMs: number | undefined;
  const end = async (why: { signal?: string; err?: unknown }): Promise<void> => {
    firstMs = performance.now();
    process.exit(await stop(why).catch(() => EXIT.somethingIsWrong));
  };
  const onError = (err: unknown): void => {
    if (firstMs !== undefined) process.exit(EXIT.somethingIsWrong);
    void end({ err });
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstMs === undefined) void end({ signal });
    else if (signal === "SIGINT" && performance.now() - firstMs >= ECHO_MS) process.exit(EXIT_INTERRUPTED);
  };
  for (const event of ERRORS) process.on(event, onError);
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const event of ERRORS) process.off(event, onError);
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
}

/**
 * Ends the process when its orderly end has not come within `ms`. In a thread of its own: a log whose reader has stopped
 * reading holds up the main thread for ever, also on its way out. By then everything is stored.
 */
export function endWithin(ms: number): void {
  new Worker("setTimeout(process.kill, require('node:worker_threads').workerData, process.pid, 'SIGKILL')", {
    eval: true,
    workerData: ms,
  }).unref();
}
