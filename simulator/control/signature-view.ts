import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/limits.ts";
import { parseSignature, SIGNATURE_HEADER, sign, verify } from "../../shared/signature.ts";
import type { Attempt } from "../domain/attempts.ts";
import type { JudgedAttempt } from "../domain/blame.ts";
import { FAULTS } from "../domain/faults.ts";

const PREFIX_CHARACTERS = 120;

/**
 * The signature of one attempt taken apart and checked, step by step (SPEC §6 Signature). The secret signs here and is
 * never part of the answer. `matches` is null where the secret is no longer known: the endpoint is gone, or was rotated twice.
 */
export function signatureView(
  attempt: Attempt & Pick<JudgedAttempt, "injected">,
  body: Buffer,
  secrets: readonly string[],
) {
  const header = attempt.requestHeaders[SIGNATURE_HEADER.toLowerCase()] ?? "";
  const headers = header === "" ? [] : [header];
  const parsed = parseSignature(headers);
  const sentAtSeconds = Math.floor(attempt.wallStartedAtMs / 1000);
  const text = body.toString();
  const isForged = attempt.injected.some(({ name }) => FAULTS[name].at === "signature");
  const isMatch = parsed.ok && matches(parsed, body, secrets);
  const isKnown = secrets.length > 0 && (isMatch || isForged);
  return {
    header,
    t: parsed.ok ? parsed.timestamp : null,
    v1: parsed.ok ? parsed.digests : [],
    problem: parsed.ok ? null : parsed.reason,
    signed_string_start: parsed.ok ? `${parsed.timestamp}.${text.slice(0, PREFIX_CHARACTERS)}` : null,
    signed_bytes: parsed.ok ? parsed.timestamp.length + 1 + body.byteLength : null,
    matches: parsed.ok && isKnown ? isMatch : null,
    age_at_send_seconds: sentAtSeconds - attempt.signatureTimestamp,
    tolerance_seconds: SIGNATURE_TOLERANCE_SECONDS,
    verdict: !isKnown ? null : verdictOf(headers, body, secrets, sentAtSeconds),
  };
}

function matches(
  parsed: { timestamp: string; digests: string[] },
  body: Buffer,
  secrets: readonly string[],
): boolean {
  const timestampSeconds = Number(parsed.timestamp);
  const expected = secrets.map((secret) => sign({ body, secret, timestampSeconds }));
  return expected.some((header) => parsed.digests.includes(header.slice(header.indexOf("v1=") + 3)));
}

/** What a receiver has to say of it: `accepted`, or why not. */
function verdictOf(headers: string[], body: Buffer, secrets: readonly string[], nowSeconds: number): string {
  const verification = verify({ headers, body, secrets, nowSeconds });
  return verification.ok ? "accepted" : verification.reason;
}
