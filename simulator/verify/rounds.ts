import type { Exchange } from "./delivery.ts";

/** The receiver was killed and started again. */
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
  /** The kills of `acknowledged` and `burst` and more, each microseconds to milliseconds after an answer, while deliveries stream in. */
  streamed: () => Promise<StreamedRound>;
};
