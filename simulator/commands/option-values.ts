import { orUsageError } from "./command-error.ts";
import { FAULT_NAMES, parseFault, type Fault } from "../domain/faults.ts";
import { InvalidArgumentError, Option } from "commander";
import type { EventType } from "../../shared/events.ts";
import { DURATIONS, parseDuration } from "../domain/duration.ts";
import { parseEventType } from "../domain/event-type.ts";
import { boundsProblem, type Bounds } from "../domain/option-bounds.ts";

export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

export function faultOption(): Option {
  return new Option(
    "--fault <name[:n]>",
    `inject this fault into every attempt, or the first n (repeatable): ${FAULT_NAMES.join(", ")}`,
  )
    .argParser(collect)
    .default([]);
}

export function wholeNumber(...bounds: Bounds): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    const problem = boundsProblem(value, bounds);
    if (problem === undefined) return value;
    throw new InvalidArgumentError(problem);
  };
}

/** `90s`, `5m`, `12h`, `1h30m` or `1d`, in seconds. */
export function durationSeconds(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined)
    throw new InvalidArgumentError(`Give a duration such as ${DURATIONS}: a number with its unit.`);
  return seconds;
}

/** An http or https URL; a path alone means the user's PORT on this machine, or 3000. */
export function webUrl(text: string): string {
  const whole = onThisMachine(text);
  const url = URL.parse(whole);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return whole;
  throw new InvalidArgumentError("Give a full URL such as http://localhost:3000/webhooks.");
}

export function eventSelection(text: string): EventType[] {
  const types = text
    .split(",")
    .map((type) => type.trim())
    .filter((type) => type !== "");
  return types.map((type) => {
    const parsed = parseEventType(type);
    if (parsed.ok) return parsed.type;
    throw new InvalidArgumentError(parsed.message);
  });
}

export function eventsASecond(text: string): number {
  const value = Number(text.replace(/\/s$/, ""));
  if (/^\d+(?:\.\d+)?(?:\/s)?$/.test(text) && value > 0 && value <= 100_000) return value;
  throw new InvalidArgumentError("Give events a second, such as 50, 0.5 or 50/s, up to 100000.");
}

/** `5%` or `0.05`, as a share from 0 to 1. */
export function shareOf(text: string): number {
  const value = Number(text.replace(/%$/, "")) / (text.endsWith("%") ? 100 : 1);
  if (/^\d+(?:\.\d+)?%?$/.test(text) && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError("Give a share such as 5% or 0.05.");
}

/** An address with `{id}` where the event id belongs, such as `http://localhost:3001/inbox/{id}`. */
export function observeUrl(text: string): string {
  const whole = onThisMachine(text);
  if (whole.includes("{id}") && URL.parse(whole) !== null) return whole;
  throw new InvalidArgumentError(
    "Give a full URL with {id} where the event id belongs, such as 'http://localhost:3001/inbox/{id}'.",
  );
}

/** A path alone means the user's PORT on this machine, or 3000; other values stay unchanged. */
function onThisMachine(text: string): string {
  return text.startsWith("/") ? `http://localhost:${process.env["PORT"] || 3000}${text}` : text;
}

export function faultsOf(texts: readonly string[]): Fault[] {
  return texts.map((text) => orUsageError(parseFault(text)).fault);
}
