import type { EventType } from "../../shared/events.ts";
import type { Reading } from "../observer/observer.ts";
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
  "explore",
] as const;

export type Group = (typeof GROUPS)[number];

/** What a check may be: a demand, or advice. */
export const LEVELS = ["must", "advice"] as const;

export type Level = (typeof LEVELS)[number];

/**
 * One thing that a receiver is judged by. `must`: the specification demands it, or the service can send it and an event
 * would be lost or handled twice. `advice`: what a careful receiver does beyond that; it fails no run unless asked to.
 */
export type Check = {
  /** `group.name`, stable across releases: baselines and `--only` refer to it. */
  id: string;
  /** A sentence about the receiver, such as "accepts call.completed". */
  title: string;
  level: Level;
  /** The event types that it cannot do without; it is left out of the run of an endpoint that one is not sent to. */
  about?: readonly (EventType | "new types")[];
  group: Group;
  spec: Rule;
  /** How a receiver that fails is usually put right. */
  hint: string;
  /**
   * When the check runs: among others (the default); beside other checks that hold connections open; alone, since it
   * may bring a receiver down or load it; last, after all of these; then, one at a time, those that kill the receiver, and the explorer.
   */
  phase?: "together" | "stalled" | "alone" | "last" | "crash" | "explore";
  /** Left out of a run unless `--thorough` asks for it: it takes long, or needs much. */
  thorough?: true;
  /** What the run has to be given for this check; without it the check is unverified. */
  needs?: readonly Need[];
  /** The options that run this check again: `--only` and its id unless given, and none where it takes a whole run. */
  again?: string;
  run: (context: CheckContext) => Promise<Verdict | Pending>;
};

/** What one check found. */
export type Verdict =
  | {
      outcome: "passed";
      /** What was found out beside it, in one sentence. */
      note?: string;
    }
  | {
      outcome: "failed";
      /** What the receiver did, in one sentence. */
      problem: string;
      /** The exchanges that show it, the telling one first. */
      exchanges: Exchange[];
    }
  | { outcome: "unverified"; reason: string };

/** A check whose verdict depends on what the receiver has handled once everything has come to rest. */
export type Pending = { outcome: "pending"; judge: (handled: HandledCounts) => Verdict };

/** How often the receiver says that it handled an event, read after everything has come to rest. */
export type HandledCounts = { of(eventId: string): Reading };
