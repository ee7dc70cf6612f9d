import type Database from "better-sqlite3";
import type { KnownHandler } from "./handlers.ts";

// What lies ahead of the clock was written before it was turned back.
const COUNT = `SELECT count(*) FROM starts WHERE handler = ? AND at_ms > ? AND at_ms <= ?`;
const FORGET = `DELETE FROM starts WHERE handler = ? AND at_ms <= ?`;
const ADD = `INSERT INTO starts VALUES (?, ?)`;

/** How many attempts of a handler may begin now. Kept in the work file, so that it holds for all workers together. */
export function createRateLimits(db: Database.Database) {
  const count = db.prepare<[number, number, number], number>(COUNT).pluck();
  const forget = db.prepare<[number, number]>(FORGET);
  const add = db.prepare<[number, number]>(ADD);

  return {
    free({ number, policy }: KnownHandler, nowMs: number): number {
      if (!policy?.rateLimit) return Infinity;
      const { limit, perMs } = policy.rateLimit;
      return Math.max(0, limit - (count.get(number, nowMs - perMs, nowMs) ?? 0));
    },
    begin({ number, policy }: KnownHandler, nowMs: number): void {
      if (!policy?.rateLimit) return;
      forget.run(number, nowMs - policy.rateLimit.perMs);
      add.run(number, nowMs);
    },
  };
}

export type RateLimits = ReturnType<typeof createRateLimits>;
