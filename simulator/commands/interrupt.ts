/** Resolves at Ctrl-C or SIGTERM. A second one ends the process at once. */
export function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    const interrupt = () => {
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", interrupt);
      resolve();
    };
    process.on("SIGINT", interrupt);
    process.on("SIGTERM", interrupt);
  });
}
