import { TRADES, type Trade } from "./trades.ts";

const HOUR_SECONDS = 3_600;
const HOURS_A_DAY = 24;
const DAYS_A_WEEK = 7;
// 1970-01-01 was a Thursday; weekdays count from Sunday.
const FIRST_WEEKDAY = 4;

/** A calendar that runs as fast as the trade is busy: by `at(0.5)` half of all calls have come in. */
export function createCalendar(options: {
  trade: Trade;
  utcOffsetHours: number;
  start: number;
  end: number;
}) {
  const { trade, utcOffsetHours, start } = options;
  const hours = Math.max(1, Math.floor((options.end - start) / HOUR_SECONDS));
  // passed[h] is how much has come in when hour h begins.
  const passed = new Float64Array(hours + 1);
  for (let hour = 0; hour < hours; hour += 1) {
    const weight = busyness(trade, start + hour * HOUR_SECONDS, utcOffsetHours);
    passed[hour + 1] = (passed[hour] ?? 0) + weight;
  }
  const total = passed[hours] ?? 0;

  return {
    /** The Unix second at which `share` (from 0 to below 1) of all calls has come in; never decreases with `share`. */
    at(share: number): number {
      const target = share * total;
      let hour = 0;
      let after = hours;
      while (after - hour > 1) {
        const middle = (hour + after) >>> 1;
        if ((passed[middle] ?? 0) <= target) hour = middle;
        else after = middle;
      }
      const begun = passed[hour] ?? 0;
      const within = (target - begun) / ((passed[hour + 1] ?? total) - begun);
      return (
        start +
        Math.min(hour * HOUR_SECONDS + Math.floor(within * HOUR_SECONDS), (hour + 1) * HOUR_SECONDS - 1)
      );
    },
  };
}

export function isOpen(trade: Trade, unixSeconds: number, utcOffsetHours: number): boolean {
  const { hour, weekday } = local(unixSeconds, utcOffsetHours);
  const { open, weekdays } = TRADES[trade];
  return hour >= open.from && hour < open.until && (weekdays[weekday] ?? 0) > 0.45;
}

function busyness(trade: Trade, unixSeconds: number, utcOffsetHours: number): number {
  const { hour, weekday } = local(unixSeconds, utcOffsetHours);
  return (TRADES[trade].hours[hour] ?? 0) * (TRADES[trade].weekdays[weekday] ?? 0);
}

function local(unixSeconds: number, utcOffsetHours: number): { hour: number; weekday: number } {
  const hours = Math.floor(unixSeconds / HOUR_SECONDS) + utcOffsetHours;
  const days = Math.floor(hours / HOURS_A_DAY);
  return {
    hour: hours - days * HOURS_A_DAY,
    weekday: (((days + FIRST_WEEKDAY) % DAYS_A_WEEK) + DAYS_A_WEEK) % DAYS_A_WEEK,
  };
}

/** `2026-01-31T18:05:09Z` for Unix seconds: the form of every time in the resources (SPEC §2). */
export function timestamp(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}
