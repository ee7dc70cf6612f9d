/** How an attempt ended without a status. `interrupted`: the simulator itself stopped. */
export const ATTEMPT_ERRORS = [
  "dns",
  "refused",
  "reset",
  "closed",
  "tls",
  "timeout",
  "protocol",
  "interrupted",
] as const;

export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

export type Failure = { error: AttemptError; detail?: string };

export type Outcome = { status: number } | Failure;

/** The kept part of an answer: its headers, and its body up to 16 KiB. */
export type Answer = { headers: Record<string, string | string[]>; body: Buffer; truncated: boolean };

export const BLAMES = ["receiver", "simulator"] as const;

export type Blame = (typeof BLAMES)[number];

/** Attempting until a 2xx (delivered) or the sixth failure (dead): SPEC §3. */
export const DELIVERY_STATES = ["attempting", "delivered", "dead"] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** `failed`: gave up, or failed so far. `lost`: gave up, and was not sent again since. */
export const STATE_WORDS = [...DELIVERY_STATES, "failed", "lost"] as const;

export type StateWord = (typeof STATE_WORDS)[number];
