import { parseFault, type Fault } from "../domain/faults.ts";
import { CommandError, EXIT } from "./command-error.ts";

/** Reads `--fault` values; a mistake ends the command with the names that there are. */
export function faultsOf(texts: readonly string[]): Fault[] {
  return texts.map((text) => {
    const parsed = parseFault(text);
    if (!parsed.ok) throw new CommandError(parsed.message, EXIT.wrongUsage);
    return parsed.fault;
  });
}
