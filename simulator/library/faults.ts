import { parseFault, type Fault, type FaultName } from "../domain/faults.ts";

/** A fault by its name, on every attempt, or on the first N of each delivery: `drop-answer:1`. */
export type FaultText = FaultName | `${FaultName}:${1 | 2 | 3 | 4 | 5 | 6}`;

/** Reads faults; throws with the names that there are. */
export function faultsFrom(texts: readonly FaultText[]): Fault[] {
  return texts.map((text) => {
    const parsed = parseFault(text);
    if (!parsed.ok) throw new Error(parsed.message);
    return parsed.fault;
  });
}
