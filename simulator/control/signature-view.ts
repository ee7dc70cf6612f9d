import { SIGNATURE_TOLERANCE_SECONDS } from "../../shared/limits.ts";
import { parseSignature, SIGNATURE_HEADER, sign, verify } from "../../shared/signature.ts";
import type { Attempt } from "../domain/attempts.ts";

const PREFIX_CHARACTERS = 120;

/**
 * The signature of one attempt taken apart and checked, step by step (SPEC §6 Signature). The secret signs here and is
 * never part of the answer. `matches` is null where the endpoint, and its secret with it, is gone.
 */
export function signatureView(attempt: Attempt, body: Buffer, secret: string | undefined) {
  const header = attempt.requestHeaders[SIGNATURE_HEADER.toLowerCase()] ?? "";
  const headers = header === "" ? [] : [header];
  const parsed = parseSignature(headers);
  const sentAtSeconds = Math.floor(attempt.wallStartedAtMs / 1000);
  const text = body.toString();
  return {
    header,
    t: parsed.ok ? parsed.timestamp : null,
    v1: parsed.ok ? parsed.digests : [],
    problem: parsed.ok ? null : parsed.reason,
    signed_string_start: parsed.ok ? `${parsed.timestamp}.${text.slice(0, PREFIX_CHARACTERS)}` : null,
    signed_bytes: parsed.ok ? parsed.timestamp.length + 1 + body.byteLength : null,
    matches: parsed.ok && secret !== undefined ? matches(parsed, body, secret) : null,
    age_at_send_seconds: sentAtSeconds - attempt.signatureTimestamp,
    tolerance_seconds: SIGNATURE_TOLERANCE_SECONDS,
    verdict: secret === undefined ? null : verdictOf(headers, body, secret, sentAtSeconds),
  };
}

function matches(parsed: { timestamp: string; digests: string[] }, body: Buffer, secret: string): boolean {
  const expected = sign({ body, secret, timestampSeconds: Number(parsed.timestamp) });
  return parsed.digests.includes(expected.slice(expected.indexOf("v1=") + 3));
}

/** What a receiver has to say of it: `accepted`, or why not. */
function verdictOf(headers: string[], body: Buffer, secret: string, nowSeconds: number): string {
  const verification = verify({ headers, body, secrets: [secret], nowSeconds });
  return verification.ok ? "accepted" : verification.reason;
}
