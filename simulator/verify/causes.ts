import { type Cause, CAUSES, causeOf as causeOfEnding, type Meaning } from "../domain/causes.ts";
import type { Exchange } from "./delivery.ts";

/** Problems of a receiver: the causes of a failed delivery, and those that only a whole run shows. */
export const VERIFY_CAUSES = {
  ...CAUSES,
  sometimes: {
    words: "It failed once, and passed when it was sent again",
    fix: "Something fails now and then: a locked or busy database, an exhausted pool, a race between requests. See the receiver's log at that time.",
  },
  ended: {
    words: "The receiver no longer listened",
    fix: "Catch exceptions of request handlers, and answer 4xx: no request may end the process.",
  },
  not_restarted: {
    words: "The receiver did not start again after it was killed",
    fix: "At the start, clean up after a killed process: lock files, ports, half-written state.",
  },
  lost_in_crash: {
    words: "An acknowledged event was lost when the receiver was killed",
    fix: "Commit the event to disk before the 2xx goes out, mark it as done in the transaction that holds its effect, and at start-up resume stored events that are not done. If a lease must expire first, set --effects-within SECONDS.",
  },
  repeated_after_crash: {
    words: "An event was handled again after the receiver was killed",
    fix: "Keep ids on disk, and mark an event as done in the transaction that holds its effect.",
  },
  slow: {
    words: "The answer came late",
    fix: "Verify, store and answer; do the work afterwards. Several deliveries stored in one transaction cost one sync to disk.",
  },
  unfinished: {
    words: "The answer began, but its body never ended",
    fix: "End the response. Whether its headers or the whole of it must arrive within 10 seconds is not stated.",
  },
  handled_late: {
    words: "An event was handled late",
    fix: "Start on an event when it arrives, not at the next poll minutes later. If it may take longer, say --effects-within SECONDS.",
  },
  held_up: {
    words: "An event that cannot be handled delayed others",
    fix: "Give each event its own attempts, with a pause between them, and take the next one meanwhile.",
  },
  failure_hidden: {
    words: "An event that could not be handled disappeared",
    fix: "Keep it as a dead letter: a state beside its count, so that an operator can find it and try it again.",
  },
  not_drained: {
    words: "SIGTERM interrupted work",
    fix: "On SIGTERM take no new connections, finish running requests, leave the rest stored for the next start, and exit within 15 seconds.",
  },
  memory_grew: {
    words: "A flood of forged deliveries took much memory",
    fix: "Bound the body that you read before its signature is verified (1 MB is ample), and the number of requests at a time.",
  },
  leaked: {
    words: "The receiver's output holds a person or a secret",
    fix: "Log ids, types and states; no bodies, no headers, no secrets.",
  },
} as const satisfies Record<string, Cause>;

export type CauseName = keyof typeof VERIFY_CAUSES;

/** Why an exchange failed; a connection that we cut ourselves counts as closed. */
export function causeOf({ outcome }: Exchange, meaning: Meaning = "genuine"): CauseName {
  if (outcome.kind === "answered") return causeOfEnding({ status: outcome.status }, meaning) ?? "refused";
  return causeOfEnding({ error: outcome.error === "cut" ? "closed" : outcome.error }) ?? "connection_closed";
}
