import type { Refused } from "../domain/refused.ts";

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

/** Ends a command that was used wrongly: the message says how it is used. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.wrongUsage);
}

/** The value of a result; a refusal ends the command, with `what` before the reason. */
export function orUsageError<Done extends { ok: true }>(result: Done | Refused, what = ""): Done {
  if (result.ok) return result;
  throw usageError(what + result.message);
}
