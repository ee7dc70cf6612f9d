/** Figures of the service that a receiver need not know (SPEC §8 Limits). */

/** Items on a page of calls or voicemails when `limit` is absent. */
export const LIST_LIMIT_DEFAULT = 25;
/** The most items a page can have. */
export const LIST_LIMIT_MAXIMUM = 100;
/** How long an endpoint has to answer one attempt. */
export const RESPONSE_TIMEOUT_MS = 10_000;
/** Consecutive failures after which the dashboard flags an endpoint. It is never disabled. */
export const FAILURE_FLAG_THRESHOLD = 3;
