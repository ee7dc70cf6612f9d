import type { Envelope, EventType } from "../../shared/events.ts";
import type { ReceiverProcess, StartResult } from "../processes/receiver-process.ts";
import type { Delivery, Exchange } from "./delivery.ts";
import type { Ledger } from "./ledger.ts";
import type { Material } from "./material.ts";
import type { ClockOffset, ReceiverClock } from "./receiver-clock.ts";
import type { Rule } from "./rules.ts";
import type { Timing } from "./timing.ts";
import type { Target, WireConnection } from "./wire.ts";

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
   * may bring a receiver down or load it; last, after all of these; or alone after that, since it kills the receiver.
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

/** `observe`: effects can be read back. `command`: we own the receiver's process. `clock`: we can move its clock. */
export type Need = "observe" | "command" | "clock";

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
export type HandledCounts = { of(eventId: string): Handled };

export type Handled = { known: true; count: number } | { known: false; reason: string };

/** What a check has at hand. Events and ids are the same in each run with the same seed. */
export type CheckContext = Delivery & {
  target: Target;
  secret: string;
  seed: string;
  /** The types that the endpoint is registered for. */
  events: readonly EventType[];
  timing: Timing;
  /** How long an answer may take from now on: less, once it is known that the receiver answers too late. */
  answerTimeoutMs: () => number;
  ledger: Ledger;
  /** An event of `type`, with an id that no other check uses. */
  event: Material["event"];
  /** Marks an event that a receiver need not act on, since its type is not documented. */
  undocumented: (envelope: Envelope) => Envelope;
  /** A later event about the object of `earlier`: its effect may take the place of the earlier one's. */
  later: (earlier: Envelope, type: EventType) => Envelope;
  /** A connection to write to byte by byte. */
  open: () => Promise<WireConnection>;
  /** Unix time in seconds, as this machine's clock says. */
  nowSeconds: () => number;
  /**
   * Runs `send` early in a second of the receiver's clock, which it is given, and again when the answer came too late in
   * it or there was none to judge; eight tries.
   */
  withinOneSecond: (
    offset: ClockOffset,
    send: (receiverSeconds: number) => Promise<Exchange | undefined>,
  ) => Promise<Exchange | undefined>;
  /** Polls until `condition` holds or `withinMs` have passed; whether it holds. */
  waitUntil: (condition: () => Promise<boolean>, withinMs: number) => Promise<boolean>;
  /** The receiver's clock, as far as its answers tell. */
  clock: ReceiverClock;
  /** The same after deliveries made to find out, whose ids are none of this check's. */
  measureClock: () => Promise<ClockOffset | undefined>;
  /** Reads how often an event was handled up to now; unknown when nothing can be observed. */
  handledNow: (eventId: string) => Promise<Handled>;
  /** Kills of the receiver, in the command form, and what was sent around them. */
  kills: KillRounds;
  /** Starts the receiver again with its clock moved ahead. */
  moveClock: (seconds: number) => Promise<StartResult>;
  /** The receiver's process, in the command form. */
  receiver: ReceiverProcess | undefined;
};

/** What came of killing the receiver and starting it again. */
export type Round = {
  /** Why it did not start again. */
  notRestarted?: string | undefined;
  exchanges: Exchange[];
  /** How long after the closest answer the signal followed. */
  closestMs: number;
};

/** A round in which the same process had handled one event, and stored another, when it was killed. */
export type AcknowledgedRound = Round & {
  /** The event that was acknowledged right before the kill. */
  last: Exchange[];
  /** An event acknowledged before, and its duplicate afterwards. */
  duplicate: Exchange[];
  /** The same for an event that had been handled. */
  handled: Exchange[];
  /** The first delivery after the restart. */
  revived: Exchange[];
};

/** A round in which a burst was under way; these were acknowledged before the kill. */
export type BurstRound = Round & { answered: Exchange[] };

/** All kills together: which events were acknowledged right before one. */
export type StreamedRound = Round & { kills: number };

/** Kills of the receiver, each played when a check first asks for it. */
export type KillRounds = {
  /** A kill as the answer to an event begins. */
  acknowledged: () => Promise<AcknowledgedRound>;
  /** A kill in the midst of a burst. */
  burst: () => Promise<BurstRound>;
  /** SIGTERM right after an answer. */
  terminated: () => Promise<Round>;
  /** These kills and more, each microseconds to milliseconds after an answer, while deliveries stream in. */
  streamed: () => Promise<StreamedRound>;
};
