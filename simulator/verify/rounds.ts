import type { StartFailure } from "../processes/receiver-process.ts";
import type { Exchange } from "./delivery.ts";

/** The receiver was killed and started again; `notRestarted` says why it did not start. */
export type Round = { notRestarted?: StartFailure | undefined; exchanges: Exchange[] };

/** A kill as the answer to an event begins, in a process that had handled one event and stored another. */
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

/** Several kills: the events acknowledged before one, those sent again after it, and how soon the closest kill came. */
export type StreamedRound = Round & { retried: Exchange[]; kills: number; closestMs: number };

/** Kills of the receiver, each played when a check first asks for it. */
export type KillRounds = {
  acknowledged: () => Promise<AcknowledgedRound>;
  /** Kills at random moments while deliveries stream in and events are handled. */
  streamed: () => Promise<StreamedRound>;
  /** SIGTERM right after an answer. */
  terminated: () => Promise<Round>;
};
