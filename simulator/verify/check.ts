import type { EventType } from "../../shared/events.ts";
import type { Reading } from "../observer/observer.ts";
import type { CauseName } from "./causes.ts";
import type { CheckContext, Need } from "./context.ts";
import type { Exchange } from "./delivery.ts";
import type { Rule } from "./rules.ts";

/** The groups of checks, in the order in which reports show them. */
export const GROUPS = [
  "preflight",
  "acknowledgement",
  "signature",
  "raw-bytes",
  "duplicates",
  "evolution",
  "wire",
  "readings",
  "load",
  "effects",
  "crash",
  "production",
] as const;

export type Group = (typeof GROUPS)[number];

export const LEVELS = ["must", "advice"] as const;

export type Level = (typeof LEVELS)[number];

/** The phases of a run, in order for the checks of one level. */
export const PHASES = ["together", "stalled", "alone", "last", "crash", "odd"] as const;

export type Phase = (typeof PHASES)[number];

/**
 * One requirement on a receiver. `must`: the specification demands it, or the service can send it and an event would be lost
 * or handled twice. `advice`: what a careful receiver does beyond that; by default it fails no run.
 */
export type Check = {
  /** `group.name`, stable across releases: `--only` and `--skip` refer to it. */
  id: string;
  /** A sentence about the receiver, such as "accepts call.completed". */
  title: string;
  level: Level;
  group: Group;
  spec: Rule;
  /** The event types that it needs; it is left out if the endpoint does not get one of them. */
  about?: readonly (EventType | "new types")[] | undefined;
  /** The fix if the sent data was special; otherwise the cause of a failure has one. */
  hint?: string | undefined;
  /**
   * When the check runs: among others (the default); beside other checks that hold connections open; alone, since it
   * may bring a receiver down or load it; last, after all of these; then, one at a time, those that kill the receiver.
   * Musts come first, then advice; `odd` is for what the service never sends, after everything else.
   */
  phase?: Phase;
  /** What this check needs from the user; without it the check is unverified. */
  needs?: readonly Need[] | undefined;
  /** The options that run this check again: `--only` and its id by default, none if it needs a whole run. */
  again?: string | undefined;
  run: (context: CheckContext) => Promise<Verdict | Pending>;
};

/** The result of one check. */
export type Verdict =
  | {
      outcome: "passed";
      /** An additional finding, in one sentence. */
      note?: string;
    }
  | {
      outcome: "failed";
      cause: CauseName;
      problem: string;
      /** The exchanges as evidence, the most important first. */
      exchanges: Exchange[];
    }
  | Unverified;

/**
 * `isLate`: there was no time for it, so it is tried again at the end. `isDeferred`: a handler asked for later, such as its
 * office hours.
 */
export type Unverified = { outcome: "unverified"; reason: string; isLate?: true; isDeferred?: boolean };

/** A check whose verdict depends on what the receiver has handled at the end. */
export type Pending = { outcome: "pending"; judge: (handled: HandledCounts) => Verdict };

/** What the receiver reports about an event at the end; `isOver`: the time of the run was over before. */
export type HandledCounts = { of(eventId: string): Reading; isOver?: boolean };

/** The function of each check of the table, by its id, and its special properties. */
export type Runs = Record<string, Check["run"] | (Pick<Check, "run"> & Partial<Check>)>;
