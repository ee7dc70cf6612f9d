import { readTextFile } from "../files/bounded-file.ts";
import { LARGEST_SCENARIO_BYTES, parseScenario, type Scenario } from "../domain/world/scenario.ts";
import { jsonShapeProblem } from "../text/json-shape.ts";
import { orUsageError, usageError } from "./command-error.ts";
import { messageOf } from "../text/errors.ts";

export function scenariosOf(files: readonly string[]): Scenario[] {
  return files.map((file) => orUsageError(parseScenario(readJson(file)), `${file}: `).scenario);
}

function readJson(file: string): unknown {
  const content = readTextFile(file, { name: `The scenario ${file}`, mostBytes: LARGEST_SCENARIO_BYTES });
  if (!content.ok) throw usageError(content.message);
  const problem = jsonShapeProblem(content.bytes);
  if (problem !== undefined) throw usageError(`The scenario ${file} cannot be read: ${problem}.`);
  try {
    return JSON.parse(content.text);
  } catch (error) {
    throw usageError(`The scenario ${file} is not JSON (${messageOf(error)}).`);
  }
}
