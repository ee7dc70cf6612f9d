/**
 * How an attempt ended: the status that was answered, or what went wrong before there was one. `interrupted` means that
 * the simulator itself stopped meanwhile.
 */
export type AttemptError =
  | "dns"
  | "refused"
  | "reset"
  | "closed"
  | "tls"
  | "timeout"
  | "protocol"
  | "interrupted";

export type Failure = { error: AttemptError; detail?: string };

export type Outcome = { status: number } | Failure;

/** What is kept of an answer: its headers, and its body up to 16 KiB. */
export type Answer = { headers: Record<string, string | string[]>; body: Buffer; truncated: boolean };

/** Who caused a failed attempt. */
export type Blame = "receiver" | "simulator";

/** SPEC §3: attempting until a 2xx (delivered) or the sixth failure (dead). */
export const DELIVERY_STATES = ["attempting", "delivered", "dead"] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];
