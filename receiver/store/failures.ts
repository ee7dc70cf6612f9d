import { z } from "zod";
import type { Ending, JobError, JobHandler } from "./port.ts";

/** How many of a job's errors are kept. */
const ERRORS_KEPT = 5;
const CRASHED = "The worker process ended during this attempt.";

/** Why the jobs of a handler that no worker announces any more are ignored. */
export const GONE = "The handler is gone.";

/** The errors of a job, as stores keep them: the newest first. */
export const jobErrorsSchema = z.array(
  z.object({ attempt: z.number(), atMs: z.number(), error: z.string() }),
);

/** The errors that are kept of a job whose attempt has failed. */
export function withError(before: readonly JobError[], error: JobError): JobError[] {
  return [error, ...before].slice(0, ERRORS_KEPT);
}

/** How an attempt ends whose process died, by the policy of its handler. */
export function endingOfCrash(
  attempt: number,
  { maximumAttempts, backoffMs }: Pick<JobHandler, "maximumAttempts" | "backoffMs">,
): Ending {
  const isLast = attempt >= maximumAttempts;
  return isLast
    ? { kind: "dead", error: CRASHED }
    : { kind: "failed", error: CRASHED, delayMs: backoffMs(attempt) };
}
