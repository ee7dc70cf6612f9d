import type { Attempt, ClockMode, DeliveryState } from "./types.ts";
import type { AttemptError } from "../../../domain/outcome.ts";

/** How an attempt without an answer ended, in a word. */
const ERRORS: Record<AttemptError, string> = {
  dns: "host not found",
  refused: "refused",
  reset: "reset",
  closed: "closed",
  tls: "TLS failed",
  timeout: "timeout",
  protocol: "not HTTP",
  interrupted: "interrupted",
};

const STATUS_WORDS: Record<number, string> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Timeout",
  413: "Too Large",
  415: "Media Type",
  429: "Too Many",
  500: "Server Error",
  502: "Bad Gateway",
  503: "Unavailable",
  504: "Gateway Timeout",
};

/** `200 OK`, `timeout`, `sending…`: how an attempt ended, in a word or two. */
export function outcomeWord(attempt: Attempt | undefined): string {
  if (attempt === undefined) return "waiting";
  if (attempt.ended_at === null) return "sending…";
  const { http_status: status } = attempt;
  if (status !== null && isRedirect(status)) return `${status} Redirect`;
  if (status !== null) return `${status} ${STATUS_WORDS[status] ?? ""}`.trim();
  return attempt.error === null ? "" : ERRORS[attempt.error];
}

const isRedirect = (status: number) => status >= 300 && status <= 399;

/** The state of a delivery in a word, and in a sentence with its name in the API and the commands. */
export const STATES: Record<DeliveryState, [word: string, sentence: string]> = {
  attempting: ["In progress", "Attempts are still to come (state attempting)."],
  delivered: ["Delivered", "A 2xx came within 10 seconds (state delivered)."],
  dead: ["Gave up", "Gave up after six attempts (state dead)."],
};

/** An event in one line. */
export function lineOf({ summary, event_type: type }: { summary: string; event_type: string }): string {
  return withControlsShown(summary === "" ? type : summary);
}

/** An address without its common parts. */
export function placeOf(endpoint: { name?: string; url: string } | undefined): string {
  return endpoint?.name || (endpoint?.url.replace(/^https?:\/\//, "") ?? "endpoint deleted");
}

/** Why a signature was or was not accepted. */
export const VERDICTS: Record<string, string> = {
  accepted: "A correct receiver accepts this signature.",
  header_missing: "A correct receiver refuses it: there is no signature header.",
  signature_missing: "A correct receiver refuses it: the header has no v1.",
  timestamp_too_old: "A correct receiver refuses it: t is more than 300 s in the past.",
  timestamp_too_new: "A correct receiver refuses it: t is more than 300 s in the future.",
  no_match: "A correct receiver refuses it: no v1 matches the body and the secret.",
};

export const CLOCK_MODES: Record<ClockMode, [word: string, sentence: string]> = {
  real: ["Real", "Schedule time runs as the wall clock does: six attempts take 14 h 36 min."],
  skip: ["Skip", "Waiting is skipped: when nothing is in flight, time jumps to the next due attempt."],
  manual: ["Manual", "Schedule time stands still until you move it."],
};

/** Controls of writing direction: invisible, they would reverse the text beside them. */
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A foreign text with such controls written out: `‹U+202E›`. */
export function withControlsShown(text: string): string {
  return text.replaceAll(
    DIRECTION_CONTROLS,
    (control) => `‹U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`,
  );
}

/** A moment: ISO 8601, milliseconds since 1970, or a date. */
type When = string | number | Date;

const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
const DAY = { day: "numeric", month: "short" } as const;
const timeFormat = new Intl.DateTimeFormat("en-GB", TIME);
const dayFormat = new Intl.DateTimeFormat("en-GB", DAY);
const fullFormat = new Intl.DateTimeFormat("en-GB", { weekday: "short", year: "numeric", ...DAY, ...TIME });
const numberFormat = new Intl.NumberFormat("en");

/** `14:03:22`, in the reader's time zone. */
export function timeOf(when: When): string {
  return timeFormat.format(toDate(when));
}

/** `21 Nov 14:03:22`. */
export function dayAndTimeOf(when: When): string {
  const date = toDate(when);
  return `${dayFormat.format(date)} ${timeFormat.format(date)}`;
}

/** `14:03:22`, with its day where that is not the day of `now`. */
export function momentOf(when: When, now: When | undefined): string {
  const full = dayAndTimeOf(when);
  return now !== undefined && full.slice(0, 6) === dayAndTimeOf(now).slice(0, 6) ? timeOf(when) : full;
}

/** `Sat, 21 Nov 2026, 14:03:22`. */
export function fullTimeOf(when: When): string {
  return fullFormat.format(toDate(when));
}

export function numberOf(value: number): string {
  return numberFormat.format(value);
}

/** `34 ms`, `1.2 s`. */
export function millisecondsOf(durationMs: number | null): string {
  if (durationMs === null) return "";
  return durationMs < 1000 ? `${Math.round(durationMs)} ms` : `${(durationMs / 1000).toFixed(1)} s`;
}

/** Remaining time: `4:59`, `1:29:59`, `2 d 03:00:00`. */
export function countdownOf(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1000));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const two = (value: number) => String(value).padStart(2, "0");
  const tail = `${hours > 0 || days > 0 ? two(minutes) : minutes}:${two(seconds % 60)}`;
  if (days > 0) return `${days} d ${two(hours)}:${tail}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** `1 min 34 s`. */
export function secondsOf(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? "" : ` ${rest} s`}`;
}

/** `1 delivery`, `3 deliveries`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${numberOf(count)} ${count === 1 ? one : many}`;
}

/** `evt_1a2b…9f`: enough of an id to tell it from others. */
export function shortId(id: string): string {
  return id.length <= 17 ? id : `${id.slice(0, 12)}…${id.slice(-4)}`;
}

function toDate(when: When): Date {
  return when instanceof Date ? when : new Date(when);
}

/** At most `most` characters of `text`. */
export function shortOf(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Removes `one` if it is in the list, and adds it otherwise. */
export function toggled(all: readonly string[], one: string): string[] {
  return all.includes(one) ? all.filter((other) => other !== one) : [...all, one];
}
