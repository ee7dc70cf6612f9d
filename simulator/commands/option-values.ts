import { InvalidArgumentError } from "commander";
import { parseDuration } from "../domain/duration.ts";

/** Collects a repeatable option. */
export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

/** A parser for whole numbers within bounds. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`Give a whole number from ${minimum} to ${maximum}.`);
  };
}

/** `90`, `90s`, `5m`, `12h`, `1h30m` or `1d`, in seconds. */
export function durationSeconds(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined) throw new InvalidArgumentError("Give a duration such as 90s, 5m, 12h or 1h30m.");
  return seconds;
}

/** An http or https URL. */
export function webUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return text;
  throw new InvalidArgumentError("Give a full URL such as http://localhost:3000/webhooks.");
}
