/** The figures of the service, in one place (SPEC §8 Limits). */

/** Items on a page of calls or voicemails when `limit` is absent. */
export const LIST_LIMIT_DEFAULT = 25;

/** The most items a page can have. */
export const LIST_LIMIT_MAXIMUM = 100;

/** How long an endpoint has to answer one attempt. */
export const RESPONSE_TIMEOUT_MS = 10_000;

/** How far `t` may lie from the receiver's clock, on either side. Exactly this much is still accepted. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** Consecutive failures after which the dashboard flags an endpoint. It is never disabled. */
export const FAILURE_FLAG_THRESHOLD = 3;
