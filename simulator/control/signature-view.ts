import {
  SIGNATURE_TOLERANCE_SECONDS,
  parseSignature,
  SIGNATURE_HEADER,
  verify,
} from "../../shared/signature.ts";
import type { Attempt, JudgedAttempt } from "../domain/attempts.ts";
import { FAULTS } from "../domain/faults.ts";
import type { signatureSchema } from "../domain/shapes.ts";
import type { Kept } from "../domain/spelling.ts";

const PREFIX_CHARACTERS = 120;

/** A signature, parsed and checked (SPEC §6); `matches` is null if the secret is no longer known. */
export function signatureView(
  attempt: Attempt & Pick<JudgedAttempt, "injected">,
  body: Buffer,
  secrets: readonly string[],
): Kept<typeof signatureSchema> {
  const header = attempt.requestHeaders[SIGNATURE_HEADER.toLowerCase()] ?? "";
  const headers = header === "" ? [] : [header];
  const parsed = parseSignature(headers);
  const sentAtSeconds = Math.floor(attempt.wallStartedAtMs / 1000);
  const text = body.toString();
  const isForged = attempt.injected.some(({ name }) => FAULTS[name].at === "signature");
  const judged = (nowSeconds: number) => verify({ headers, body, secrets, nowSeconds });
  // At the moment of its `t` a signature is neither too old nor too new.
  const isMatch = parsed.ok && judged(Number(parsed.timestamp)).ok;
  const isKnown = secrets.length > 0 && (isMatch || isForged);
  return {
    header,
    t: parsed.ok ? parsed.timestamp : null,
    v1: parsed.ok ? parsed.digests : [],
    problem: parsed.ok ? null : parsed.reason,
    signedStringStart: parsed.ok ? `${parsed.timestamp}.${text.slice(0, PREFIX_CHARACTERS)}` : null,
    signedBytes: parsed.ok ? parsed.timestamp.length + 1 + body.byteLength : null,
    matches: parsed.ok && isKnown ? isMatch : null,
    ageAtSendSeconds: sentAtSeconds - attempt.signatureTimestamp,
    toleranceSeconds: SIGNATURE_TOLERANCE_SECONDS,
    verdict: isKnown ? verdictOf(judged(sentAtSeconds)) : null,
  };
}

function verdictOf(verification: ReturnType<typeof verify>): string {
  return verification.ok ? "accepted" : verification.reason;
}
