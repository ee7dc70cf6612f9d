import type { CauseName } from "../../simulator/verify/causes.ts";

/** Bugs that show only in a separate process, by their names in `crash-receiver.ts`. */
export const CRASH_MUTANTS: Record<string, { bug: string; caughtBy: string; cause: CauseName }> = {
  "memory-only": {
    bug: "keeps events and ids in memory",
    caughtBy: "crash.acknowledged-survives",
    cause: "lost_in_crash",
  },
  "answers-before-storing": {
    bug: "answers first and stores a moment later",
    caughtBy: "crash.acknowledged-survives",
    cause: "lost_in_crash",
  },
  "stores-when-closed": {
    bug: "answers first, and stores when the connection is closed, a moment later",
    caughtBy: "crash.stored-before-answer",
    cause: "lost_in_crash",
  },
  "answers-copies-early": {
    bug: "answers a copy while the event itself is still being stored",
    caughtBy: "crash.stored-before-answer",
    cause: "lost_in_crash",
  },
  "never-recovers": {
    bug: "stores events, but does not take up what it had not handled",
    caughtBy: "crash.acknowledged-survives",
    cause: "lost_in_crash",
  },
  "marks-then-works": {
    bug: "marks an event as handled, and then works for two milliseconds",
    caughtBy: "crash.stored-before-answer",
    cause: "lost_in_crash",
  },
  "works-then-marks": {
    bug: "works, and marks the event as handled two milliseconds later",
    caughtBy: "crash.while-handling",
    cause: "repeated_after_crash",
  },
  "forgets-ids": {
    bug: "keeps events on disk, but the ids it has seen in memory",
    caughtBy: "crash.duplicate-after-restart",
    cause: "repeated_after_crash",
  },
  "starts-over": {
    bug: "handles everything that it has stored at each start",
    caughtBy: "crash.handled-before",
    cause: "repeated_after_crash",
  },
  "keeps-the-id-first": {
    bug: "keeps the id of an event on disk some milliseconds before the event",
    caughtBy: "crash.retried-after-kill",
    cause: "lost_in_crash",
  },
  "drops-at-sigterm": {
    bug: "forgets what it has not handled when it is asked to end",
    caughtBy: "crash.terminated",
    cause: "lost_in_crash",
  },
  "hides-failures": {
    bug: "gives up an event that it cannot handle, and shows it nowhere",
    caughtBy: "production.failed-work-retried",
    cause: "failure_hidden",
  },
  "stops-at-failure": {
    bug: "handles nothing any more after an event that it cannot handle",
    caughtBy: "production.poison-stops-nothing",
    cause: "held_up",
  },
  "drops-a-queue": {
    bug: "forgets what it has not handled when it is asked to end with much of it",
    caughtBy: "production.full-queue-survives",
    cause: "never_handled",
  },
  "cuts-at-sigterm": {
    bug: "ends at SIGTERM without answering what is under way",
    caughtBy: "production.drains",
    cause: "not_drained",
  },
  "keeps-what-it-read": {
    bug: "keeps each body in memory, forged or not",
    caughtBy: "production.flood-costs-no-memory",
    cause: "memory_grew",
  },
  "logs-bodies": {
    bug: "writes each body to its log",
    caughtBy: "production.log-names-nobody",
    cause: "leaked",
  },
  "does-not-restart": {
    bug: "leaves a lock behind that keeps it from starting again",
    caughtBy: "crash.restarts",
    cause: "not_restarted",
  },
};
