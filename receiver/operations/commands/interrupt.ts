import { EXIT } from "./terminal.ts";
import { Worker } from "node:worker_threads";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** What a shell shows of a program that Ctrl-C ended. */
const EXIT_INTERRUPTED = 130;
/** npm, at Ctrl-C, passes on what the terminal has sent already: nobody presses twice so soon. */
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
const STOP_SIGNALS = [...SIGNALS, "SIGHUP"] as const;

/**
 * From here on somebody listens at every moment, also while one listener takes the place of another: a second signal at
 * that moment, as npm passes one on, would end the process in the middle of its requests.
 */
export function listenForSignals(): void {
  for (const signal of STOP_SIGNALS) process.on(signal, () => undefined);
}

/**
 * While the receiver finishes what is running: a second Ctrl-C ends it at once, and further signals of supervisors are no
 * reason to break requests.
 */
export function endAtSecondInterrupt(): void {
  const firstMs = performance.now();
  for (const signal of STOP_SIGNALS) {
    const earlier = process.listeners(signal);
    process.on(signal, () => {
      if (signal === "SIGINT" && performance.now() - firstMs >= ECHO_MS) process.exit(EXIT_INTERRUPTED);
    });
    for (const listener of earlier) process.off(signal, listener);
  }
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
