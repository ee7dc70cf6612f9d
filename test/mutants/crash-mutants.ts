/** Bugs that only a killed process shows, by the name that `crash-receiver.ts` knows them under. */
export const CRASH_MUTANTS: Record<
  string,
  { bug: string; caughtBy: string; alsoBy?: string[]; mayAlso?: string[] }
> = {
  "memory-only": {
    bug: "keeps events and ids in memory",
    caughtBy: "crash.acknowledged-survives",
    alsoBy: ["crash.stored-before-answer", "crash.burst", "crash.terminated"],
    mayAlso: ["crash.duplicate-after-restart", "crash.handled-before"],
  },
  "answers-before-storing": {
    bug: "answers first and stores a moment later",
    caughtBy: "crash.acknowledged-survives",
    alsoBy: ["crash.stored-before-answer", "crash.burst", "crash.terminated"],
    mayAlso: ["crash.duplicate-after-restart"],
  },
  "stores-when-closed": {
    bug: "answers first, and stores when the connection is closed, a moment later",
    caughtBy: "crash.stored-before-answer",
    alsoBy: ["crash.acknowledged-survives"],
    mayAlso: ["crash.burst", "crash.terminated", "crash.duplicate-after-restart"],
  },
  "answers-copies-early": {
    bug: "answers a copy while the event itself is still being stored",
    caughtBy: "crash.stored-before-answer",
  },
  "never-recovers": {
    bug: "stores events, but does not take up what it had not handled",
    caughtBy: "crash.acknowledged-survives",
    alsoBy: ["crash.stored-before-answer", "crash.duplicate-after-restart", "crash.burst"],
    mayAlso: ["crash.terminated"],
  },
  "forgets-ids": {
    bug: "keeps events on disk, but the ids it has seen in memory",
    caughtBy: "crash.duplicate-after-restart",
    alsoBy: ["crash.handled-before"],
    mayAlso: ["crash.burst"],
  },
  "forgets-after-an-hour": {
    bug: "keeps ids for an hour",
    caughtBy: "effects.after-whole-schedule",
  },
  "starts-over": {
    bug: "handles everything that it has stored at each start",
    caughtBy: "crash.handled-before",
    alsoBy: [
      "crash.stored-before-answer",
      "crash.acknowledged-survives",
      "crash.duplicate-after-restart",
      "crash.burst",
    ],
    mayAlso: ["crash.terminated"],
  },
  "does-not-restart": {
    bug: "leaves a lock behind that keeps it from starting again",
    caughtBy: "crash.restarts",
    alsoBy: [
      "crash.stored-before-answer",
      "crash.acknowledged-survives",
      "crash.duplicate-after-restart",
      "crash.handled-before",
      "crash.burst",
      "crash.terminated",
    ],
  },
};
