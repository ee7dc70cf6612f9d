const EXIT_INTERRUPTED = 130;

/** Resolves at Ctrl-C or SIGTERM, so that everything can end in order; a second one ends the process at once. */
export function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    let isEnding = false;
    // Stays installed: as long as somebody listens, a signal does not end the process, or the receiver below it.
    const interrupt = () => {
      if (isEnding) process.exit(EXIT_INTERRUPTED);
      isEnding = true;
      resolve();
    };
    process.on("SIGINT", interrupt);
    process.on("SIGTERM", interrupt);
  });
}

/**
 * Does `work` with a signal that Ctrl-C or SIGTERM gives, so that it can stop in order and say how far it came; a second
 * one ends the process at once, and every process that it started.
 */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const interruption = new AbortController();
  // Stays installed until the work is done: as long as somebody listens, a signal ends neither us nor what we started.
  const interrupt = () => {
    if (interruption.signal.aborted) process.exit(EXIT_INTERRUPTED);
    interruption.abort();
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  try {
    return await work(interruption.signal);
  } finally {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
}
