import { parseDuration } from "../domain/duration.ts";
import { parseFault, type Fault } from "../domain/faults.ts";
import type { FaultText } from "./surface.ts";

/** Reads faults; throws with the names that there are. */
export function faultsFrom(texts: readonly FaultText[]): Fault[] {
  if (typeof texts === "string") throw new TypeError('Faults are a list, such as ["duplicate"].');
  return texts.map((text) => {
    const parsed = parseFault(text);
    if (!parsed.ok) throw new Error(parsed.message);
    return parsed.fault;
  });
}

/** Reads a duration: seconds, or a text such as `"5m"`; throws with what there is. */
export function secondsFrom(duration: number | string): number {
  const seconds = typeof duration === "number" ? duration : parseDuration(duration);
  if (seconds !== undefined && seconds >= 0) return seconds;
  throw new Error(
    `${JSON.stringify(duration)} is no duration: give seconds, or a text such as "5m" or "12h".`,
  );
}

/** What was done; throws with what to do instead where it was refused. */
export function orThrow<Result extends { ok: boolean }>(result: Result): Extract<Result, { ok: true }> {
  if (isDone(result)) return result;
  throw new Error(
    "message" in result && typeof result.message === "string" ? result.message : "It was refused.",
  );
}

function isDone<Result extends { ok: boolean }>(result: Result): result is Extract<Result, { ok: true }> {
  return result.ok;
}
