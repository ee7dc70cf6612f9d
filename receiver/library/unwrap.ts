import { z } from "zod";
import type { EventObject, EventType } from "../../shared/events.ts";
import { sign, signingKey, verify } from "../../shared/signature.ts";
import type { SignatureProblem, Verification } from "../../shared/signature.ts";
import { systemClock } from "../clock.ts";
import { bytesOf } from "../intake/body.ts";
import { parseEnvelope } from "../intake/inbox.ts";
import type { HandledEvent } from "../work/handler.ts";

/** An event of one type, as the service documents it. Fields may be added at any time. */
export type EventOf<Type extends EventType> = HandledEvent<Type, EventObject<Type>>;

/** A verified event, discriminated by `type`. The service may add types: give a `switch` a `default` that ignores them. */
export type WebhookEvent = { [Type in EventType]: EventOf<Type> }[EventType];

export type Signed = {
  /** The request's body as received, byte for byte. A string counts as its UTF-8 bytes. */
  body: Uint8Array | ArrayBuffer | string;
  /** The value of `X-Service-Signature`, or all of them if there are several. */
  header: string | readonly string[] | null | undefined;
  /** The endpoint's signing secret; both during a rotation. */
  secrets: string | readonly string[];
  /** Unix time in milliseconds to verify against. Default: the machine's clock. */
  nowMs?: number;
};

/** Why `verifySignature` refuses a delivery. `body_unusable`: the body is not bytes. `secret_missing`: a secret is blank. */
export type VerificationProblem = SignatureProblem | "body_unusable" | "secret_missing";

/** Whether a body was signed with one of the secrets, within 300 s of now (SPEC §6 Signature). Never throws. */
export function verifySignature(
  signed: Signed,
): Extract<Verification, { ok: true }> | { ok: false; reason: VerificationProblem } {
  try {
    const { nowMs = systemClock.nowMs() } = signed;
    const [headers, secrets] = [[signed.header ?? []].flat(), [signed.secrets].flat()];
    const body = signedBytes(signed);
    if (!body) return { ok: false, reason: "body_unusable" };
    if (!secrets[0] || !secrets.every((secret) => typeof secret === "string" && secret.trim() !== ""))
      return { ok: false, reason: "secret_missing" };
    if (!headers.every((value) => typeof value === "string")) return { ok: false, reason: "pair_malformed" };
    return verify({ headers, body, secrets: secrets.map(signingKey), nowSeconds: Math.floor(nowMs / 1_000) });
  } catch {
    return { ok: false, reason: "body_unusable" };
  }
}

/** A value of `X-Service-Signature` for unit tests: what the service would send with this body at this time. */
export function signForTest(given: { body: Uint8Array | string; secret: string; nowMs?: number }): string {
  const { nowMs = systemClock.nowMs(), ...signed } = given;
  return sign({ ...signed, timestampSeconds: Math.floor(nowMs / 1_000) });
}

/**
 * Verifies a delivery and returns its event. Throws `WebhookError` if the signature does not verify or the body is not an
 * event; its message names the likely cause. Objects may lack documented fields: check those you need, or parse them with
 * `objectSchemas`.
 */
export function unwrap(signed: Signed): WebhookEvent {
  const verified = verifySignature(signed);
  if (!verified.ok) throw new WebhookError(verified.reason, CAUSES[verified.reason] ?? MALFORMED);
  const parsed = parseEnvelope(signedBytes(signed) ?? new Uint8Array());
  if (!parsed.ok) throw new WebhookError(parsed.error, parsed.message);
  // Only the id and the type were checked: the service may add fields or leave some out.
  return z.custom<WebhookEvent>().parse(parsed.envelope);
}

/** Why a delivery was refused: `reason` for programs, the message for people. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  readonly reason: VerificationProblem | "invalid_json" | "invalid_event";

  constructor(reason: WebhookError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

function signedBytes({ body }: Signed): Uint8Array | undefined {
  return typeof body === "string" ? Buffer.from(body) : bytesOf(body);
}

const MALFORMED =
  "The X-Service-Signature header is not of the form t=…,v1=…: the sender is not the service, or a proxy changes headers.";
const CAUSES: Partial<Record<VerificationProblem, string>> = {
  body_unusable:
    "The body is an object: a body parser has read it, and its bytes are gone. Pass the raw bytes, for example from express.raw({ type: () => true }).",
  secret_missing: "The secret is missing or blank. Is its variable set?",
  header_missing: "The X-Service-Signature header is missing. Is its name right? Does a proxy drop it?",
  timestamp_too_old:
    "The signature is more than 300 s old. Is this machine's clock right, or was a recorded request sent again?",
  timestamp_too_new: "The signature is more than 300 s in the future. Is this machine's clock right?",
  no_match:
    "No secret matches. Is it the endpoint's own secret, without white space around it? Is the body passed byte for byte, not parsed and serialized again?",
};
