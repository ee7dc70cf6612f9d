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
export function timeOf(when) {
  return timeFormat.format(toDate(when));
}

/** `21 Nov 14:03:22`. */
export function dayAndTimeOf(when) {
  const date = toDate(when);
  return `${dayFormat.format(date)} ${timeFormat.format(date)}`;
}

/** `Sat, 21 Nov 2026, 14:03:22`. */
export function fullTimeOf(when) {
  return fullFormat.format(toDate(when));
}

export function numberOf(value) {
  return numberFormat.format(value);
}

/** `34 ms`, `1.2 s`. */
export function millisecondsOf(durationMs) {
  if (durationMs === null) return "";
  return durationMs < 1000 ? `${Math.round(durationMs)} ms` : `${(durationMs / 1000).toFixed(1)} s`;
}

/** `4:59`, `1:29:59`, `2 d 03:00:00`: time that is left. */
export function countdownOf(leftMs) {
  const seconds = Math.max(0, Math.ceil(leftMs / 1000));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const tail = `${hours > 0 || days > 0 ? two(minutes) : minutes}:${two(seconds % 60)}`;
  if (days > 0) return `${days} d ${two(hours)}:${tail}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** `1 min 34 s`. */
export function secondsOf(seconds) {
  if (seconds < 60) return `${seconds} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)} min${rest === 0 ? "" : ` ${rest} s`}`;
}

/** `1 delivery`, `3 deliveries`. */
export function countOf(count, one, many = `${one}s`) {
  return `${numberOf(count)} ${count === 1 ? one : many}`;
}

/** `evt_1a2b…9f`: enough of an id to tell it from others. */
export function shortId(id) {
  return id.length <= 17 ? id : `${id.slice(0, 12)}…${id.slice(-4)}`;
}

function toDate(when) {
  return when instanceof Date ? when : new Date(when);
}

function two(value) {
  return String(value).padStart(2, "0");
}

/** At most `most` characters of `text`. */
export function shortOf(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
