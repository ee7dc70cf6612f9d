import { z } from "zod";
import type { EventObject, EventType } from "../../shared/events.ts";
import { signingKey, verify, type SignatureProblem, type Verification } from "../../shared/signature.ts";
import { systemClock } from "../clock.ts";
import { parseEnvelope } from "../intake/envelope.ts";
import type { HandledEvent } from "../work/event.ts";

/** An event of one type, as the service documents it. Fields may be added to it at any time. */
export type EventOf<Type extends EventType> = HandledEvent<Type, EventObject<Type>>;

/**
 * A verified event, by `type`. The service may add a type at any time: give a `switch` over it a `default` that ignores
 * the others.
 */
export type WebhookEvent = { [Type in EventType]: EventOf<Type> }[EventType];

export type Signed = {
  /** The request's body as it came, byte for byte. A text counts as its UTF-8 bytes. */
  body: Uint8Array | string;
  /** The value of `X-Service-Signature`; all of them where there are several. */
  header: string | readonly string[] | null | undefined;
  /** The endpoint's signing secret; while it is rotated, both. */
  secrets: string | readonly string[];
  /** Unix time in milliseconds that counts as now; the machine's clock unless given. */
  nowMs?: number;
};

/** Whether a body was signed with one of the secrets, within 300 s of now (SPEC §6 Signature). Never throws. */
export function verifySignature({
  body,
  header,
  secrets,
  nowMs = systemClock.nowMs(),
}: Signed): Verification {
  return verify({
    headers: typeof header === "string" ? [header] : (header ?? []),
    body: typeof body === "string" ? Buffer.from(body) : body,
    secrets: [secrets].flat().map(signingKey),
    nowSeconds: Math.floor(nowMs / 1_000),
  });
}

/**
 * Verifies a delivery and gives its event. Throws `WebhookError` where the signature does not hold or the body is no
 * event; its message names the likely cause. Objects may lack fields that the service documents: check what you need,
 * or parse them with `objectSchemas`.
 */
export function unwrap(signed: Signed): WebhookEvent {
  if (typeof signed.body !== "string" && !((signed.body as unknown) instanceof Uint8Array))
    throw new WebhookError("body_parsed", CAUSES.body_parsed);
  const verified = verifySignature(signed);
  if (!verified.ok) throw new WebhookError(verified.reason, CAUSES[verified.reason]);
  const bytes = typeof signed.body === "string" ? Buffer.from(signed.body) : signed.body;
  const parsed = parseEnvelope(bytes);
  if (!parsed.ok) throw new WebhookError(parsed.error, parsed.message);
  return eventSchema.parse(JSON.parse(Buffer.from(bytes).toString("utf8")));
}

/** Only the id and the type have been checked: the service may add fields, or leave some out. */
const eventSchema = z.custom<WebhookEvent>();

/** Why a delivery was refused: `reason` for programs, the message for people. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  readonly reason: Problem;

  constructor(reason: Problem, message: string) {
    super(message);
    this.reason = reason;
  }
}

type Problem = SignatureProblem | "body_parsed" | "invalid_json" | "invalid_event";

const NOT_OURS = "Whoever sent this is not the service, or a proxy in front changes headers.";

const CAUSES: Record<SignatureProblem | "body_parsed", string> = {
  body_parsed:
    "The body is an object: a body parser has read it, and its bytes are gone. Pass the raw bytes, such as express.raw({ type: () => true }) gives them.",
  header_missing: "There is no X-Service-Signature header. Is the name right, and does a proxy drop it?",
  header_empty: `The X-Service-Signature header is empty. ${NOT_OURS}`,
  header_repeated: `There are several X-Service-Signature headers. ${NOT_OURS}`,
  header_too_long: `The X-Service-Signature header is too long. ${NOT_OURS}`,
  pair_malformed: `The X-Service-Signature header is not of the form t=…,v1=…. ${NOT_OURS}`,
  timestamp_missing: `The X-Service-Signature header has no t. ${NOT_OURS}`,
  timestamp_repeated: `The X-Service-Signature header has several t. ${NOT_OURS}`,
  timestamp_malformed: `The t of the X-Service-Signature header is no time in seconds. ${NOT_OURS}`,
  timestamp_too_old:
    "The signature is more than 300 s old. Is this machine's clock right, or was a recorded request sent again?",
  timestamp_too_new: "The signature is more than 300 s in the future. Is this machine's clock right?",
  signature_missing: `The X-Service-Signature header has no v1. ${NOT_OURS}`,
  signature_malformed: `A v1 of the X-Service-Signature header is not 64 lower-case hexadecimal characters. ${NOT_OURS}`,
  signatures_too_many: `The X-Service-Signature header has more than 8 v1. ${NOT_OURS}`,
  no_match:
    "No secret matches. Is it the endpoint's own secret, without white space around it? Is the body passed as it came, byte for byte, and not parsed and written again?",
};
