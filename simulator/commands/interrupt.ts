const EXIT_INTERRUPTED = 130;
/** At Ctrl-C npm repeats the signal that the terminal has sent already; no user presses twice this fast. */
const ECHO_MS = 100;
const LOOK_EVERY_MS = 500;
/** Read at the start, so that a parent that ends early is noticed too. */
const PARENT = process.ppid;

/** Does `work` with a signal that Ctrl-C or SIGTERM aborts; a second one ends the process and all that it started. */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const interruption = new AbortController();
  // Installed until the work is done: while there is a listener, a signal ends neither us nor our child processes.
  const stopListening = onInterruption(() => interruption.abort());
  try {
    return await work(interruption.signal);
  } finally {
    stopListening();
  }
}

/** Calls `first` at the first interruption, and ends the process at the second. Under npm, the parent's end counts as one. */
function onInterruption(first: () => void): () => void {
  let firstMs: number | undefined;
  const interrupt = (): void => {
    if (firstMs === undefined) {
      firstMs = performance.now();
      first();
    } else if (performance.now() - firstMs >= ECHO_MS) {
      process.exit(EXIT_INTERRUPTED);
    }
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  const watch = setInterval(() => {
    if (process.env["npm_lifecycle_event"] === undefined || process.ppid === PARENT) return;
    clearInterval(watch);
    interrupt();
  }, LOOK_EVERY_MS).unref();
  return () => {
    clearInterval(watch);
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  };
}
