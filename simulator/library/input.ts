import { DURATIONS, parseDuration } from "../domain/duration.ts";
import { parseFault, type Fault } from "../domain/faults.ts";
import { type Refused, didYouMean } from "../domain/refused.ts";
import { boundsProblem, OPTION_BOUNDS } from "../domain/option-bounds.ts";
import type { FaultText } from "./surface.ts";

/** Throws if `options` has an unknown option of `call`, which would otherwise be ignored silently. */
export function refuseUnknown(call: string, options: object, known: readonly string[]): void {
  if (typeof options !== "object" || Array.isArray(options))
    throw new TypeError(`${call} takes its options as an object: { ${known.join(", ")} }.`);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new Error(
      `${call} has no option ${JSON.stringify(name)}.${didYouMean(name, known)} It has ${known.join(", ")}.`,
    );
  }
}

export function refuseBeyondBounds(
  call: string,
  numbers: { [Name in keyof typeof OPTION_BOUNDS]?: number | undefined },
): void {
  const given: Record<string, number | undefined> = numbers;
  for (const [name, bounds] of Object.entries(OPTION_BOUNDS)) {
    const value = given[name];
    const problem = value === undefined ? undefined : boundsProblem(value, bounds);
    if (problem !== undefined) throw new Error(`${call}: ${name} is ${JSON.stringify(value)}. ${problem}`);
  }
}

export function refuseUnknownWord(what: string, value: string | undefined, words: readonly string[]): void {
  if (value === undefined || words.includes(value)) return;
  throw new Error(`${what} is ${words.join(", ")}, not ${JSON.stringify(value)}.${didYouMean(value, words)}`);
}

export function faultsFrom(texts: readonly FaultText[]): Fault[] {
  if (typeof texts === "string") throw new TypeError('Faults are a list, such as ["duplicate"].');
  return texts.map((text) => orThrow(parseFault(text)).fault);
}

/** Reads a duration: seconds, or a text such as `"5m"`; throws for any other value. */
export function secondsFrom(duration: number | string): number {
  const seconds = typeof duration === "number" ? duration : parseDuration(duration);
  if (seconds !== undefined && seconds >= 0 && seconds < Infinity) return seconds;
  const given = typeof duration === "string" ? JSON.stringify(duration) : String(duration);
  throw new Error(
    `${given} is not a duration: give a number of seconds, or a text with its unit such as ${DURATIONS}.`,
  );
}

/** The value of a result; throws if it was refused, with the fix in the terms of the library. */
export function orThrow<Done extends { ok: true }>(result: Done | Refused, call?: string): Done {
  if (result.ok) return result;
  const message = result.message.replaceAll(
    /--([a-z][a-z-]*)/g,
    (flag, name: string) => OPTIONS[name] ?? flag,
  );
  throw new Error(call === undefined ? message : `${call}: ${message}`);
}

/** The library's names of the flags in refusals. */
const OPTIONS: Record<string, string> = {
  "allow-host": "allowedHosts:",
  data: "dataFile",
  port: "port",
  seed: "seed",
  "new-ids": "newId",
};
