import type { Random } from "../random.ts";
import type { Trade } from "./organizations.ts";

const HOUR_SECONDS = 3_600;
const HOURS_A_DAY = 24;
const DAYS_A_WEEK = 7;
// 1970-01-01 was a Thursday; weekdays count from Sunday.
const FIRST_WEEKDAY = 4;

/** How many calls each local hour of the day sees, relative to the others. */
const HOURS: Record<Trade, readonly number[]> = {
  //           0  1    2    3    4    5    6    7    8  9  10 11  12  13 14 15 16 17  18  19  20  21 22 23
  restaurant: [1, 0.3, 0.1, 0.1, 0.1, 0.1, 0.2, 0.5, 2, 5, 8, 18, 24, 14, 6, 6, 10, 22, 30, 28, 18, 9, 4, 2],
  services: [0.6, 0.4, 0.3, 0.3, 0.4, 0.8, 3, 12, 26, 24, 20, 16, 12, 16, 18, 18, 16, 12, 7, 5, 3, 2, 1.5, 1],
};

/** How busy each weekday is, from Sunday. */
const WEEKDAYS: Record<Trade, readonly number[]> = {
  restaurant: [1.1, 0.4, 0.7, 0.8, 1, 1.6, 1.7],
  services: [0.3, 1.5, 1.2, 1.1, 1, 1.1, 0.5],
};

/** Local hours in which somebody is there to take a transferred call, as [first, last). */
const OPEN: Record<Trade, readonly [number, number]> = { restaurant: [11, 22], services: [8, 18] };

/**
 * `count` moments in Unix seconds between `start` and `end`, in order, as dense as the trade's hours and weekdays are
 * busy.
 */
export function* busyMoments(options: {
  random: Random;
  trade: Trade;
  utcOffsetHours: number;
  start: number;
  end: number;
  count: number;
}): Generator<number> {
  const { random, trade, utcOffsetHours, start, count } = options;
  const hours = Math.floor((options.end - start) / HOUR_SECONDS);
  const weights = Array.from({ length: hours }, (_, hour) =>
    busyness(trade, start + hour * HOUR_SECONDS, utcOffsetHours),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);

  let hour = 0;
  let passed = 0;
  for (let index = 0; index < count; index += 1) {
    // One call in each of `count` equal shares of the whole: in order without sorting, and no two worlds alike.
    const target = ((index + random.next()) / count) * total;
    while (hour < hours - 1 && passed + (weights[hour] ?? 0) <= target) {
      passed += weights[hour] ?? 0;
      hour += 1;
    }
    const within = Math.min(0.999_999, (target - passed) / (weights[hour] ?? 1));
    yield start + Math.floor((hour + within) * HOUR_SECONDS);
  }
}

/** Whether staff is there at `unixSeconds`. */
export function isOpen(trade: Trade, unixSeconds: number, utcOffsetHours: number): boolean {
  const { hour, weekday } = local(unixSeconds, utcOffsetHours);
  const [first, last] = OPEN[trade];
  return hour >= first && hour < last && (WEEKDAYS[trade][weekday] ?? 0) > 0.45;
}

function busyness(trade: Trade, unixSeconds: number, utcOffsetHours: number): number {
  const { hour, weekday } = local(unixSeconds, utcOffsetHours);
  return (HOURS[trade][hour] ?? 0) * (WEEKDAYS[trade][weekday] ?? 0);
}

function local(unixSeconds: number, utcOffsetHours: number): { hour: number; weekday: number } {
  const hours = Math.floor(unixSeconds / HOUR_SECONDS) + utcOffsetHours;
  const days = Math.floor(hours / HOURS_A_DAY);
  return {
    hour: hours - days * HOURS_A_DAY,
    weekday: (((days + FIRST_WEEKDAY) % DAYS_A_WEEK) + DAYS_A_WEEK) % DAYS_A_WEEK,
  };
}
