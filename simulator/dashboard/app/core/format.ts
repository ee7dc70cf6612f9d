/** A moment: ISO 8601, milliseconds since 1970, or a date. */
type When = string | number | Date;

const timeFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const fullFormat = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
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

/** `4:59`, `1:29:59`, `2 d 03:00:00`: time that is left. */
export function countdownOf(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / 1000));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
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

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** At most `most` characters of `text`. */
export function shortOf(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
