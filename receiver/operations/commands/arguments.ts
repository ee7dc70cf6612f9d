import { InvalidArgumentError, Option } from "commander";
import { systemClock } from "../../clock.ts";
import { EVENT_STATES } from "../../engine.ts";

/** Options that several commands take, and what their values mean. */
export const state = (): Option =>
  new Option("--state <state>", "only events in this state").choices(EVENT_STATES);
export const type = (): Option =>
  new Option("--type <type>", "only events of this type, such as call.completed");
export const json = (): Option => new Option("--json", "print JSON");

/** Where debuggers look for a process unless they are told otherwise. */
export const INSPECT_ADDRESS = "127.0.0.1:9229";

/** A whole number from 1 to 100000. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || value < 1 || value > 100_000) {
    throw new InvalidArgumentError("It takes a whole number from 1 to 100000.");
  }
  return value;
}

/** The moment so many seconds ago; the beginning of time unless they are given. */
export function momentAgo(seconds: number | undefined): number {
  return seconds === undefined ? 0 : systemClock.nowMs() - seconds * 1_000;
}

/** Seconds of a duration such as 90s, 30m, 12h or 7d. */
export function duration(text: string): number {
  const [, amount, unit] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? [];
  const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400 }[unit ?? ""];
  if (unitSeconds === undefined)
    throw new InvalidArgumentError("It takes a duration such as 30m, 12h or 7d.");
  return Number(amount) * unitSeconds;
}
