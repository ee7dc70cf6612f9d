import { readFileSync } from "node:fs";
import { parseScenario, type Scenario } from "../domain/world/scenario.ts";
import { CommandError, EXIT } from "./command-error.ts";

/** Reads scenarios of the user; a mistake ends the command with the file, the place and what fits there. */
export function scenariosOf(files: readonly string[]): Scenario[] {
  return files.map((file) => {
    const parsed = parseScenario(readJson(file));
    if (!parsed.ok) throw new CommandError(`${file}: ${parsed.message}`, EXIT.wrongUsage);
    return parsed.scenario;
  });
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const reason = error instanceof SyntaxError ? `is no JSON (${error.message})` : "cannot be read";
    throw new CommandError(`The scenario ${file} ${reason}.`, EXIT.wrongUsage);
  }
}
