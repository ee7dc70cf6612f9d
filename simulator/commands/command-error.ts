/** What a command's exit code means. */
export const EXIT = { ok: 0, checkFailed: 1, wrongUsage: 2, couldNotRun: 3 } as const;

/** Ends a command with one readable line and an exit code; never with a stack. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.couldNotRun) {
    super(message);
    this.name = "CommandError";
    this.exitCode = exitCode;
  }
}
