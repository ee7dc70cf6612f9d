import { createHmac, createSecretKey, timingSafeEqual, type Hmac, type KeyObject } from "node:crypto";

/** The header of every delivery. HTTP header names are case-insensitive. */
export const SIGNATURE_HEADER = "X-Service-Signature";

/** How far `t` may be from the receiver's clock, in both directions; exactly this much is accepted (SPEC §8 Limits). */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/** Limits on an unauthenticated header before it is parsed. */
export const MAXIMUM_HEADER_LENGTH = 1_024;
export const MAXIMUM_SIGNATURES = 8;

const PAIR = /^([A-Za-z0-9_-]+)=([\x21-\x2b\x2d-\x7e]*)$/;
const TIMESTAMP = /^(?:0|[1-9][0-9]{0,14})$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** Why a signature was refused. For logs and metrics; the sender only learns that it was refused. */
export type SignatureProblem =
  | "header_missing"
  | "header_empty"
  | "header_repeated"
  | "header_too_long"
  | "pair_malformed"
  | "timestamp_missing"
  | "timestamp_repeated"
  | "timestamp_malformed"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "signature_missing"
  | "signature_malformed"
  | "signatures_too_many"
  | "no_match";

export type Verification =
  | { ok: true; timestampSeconds: number; secretIndex: number }
  | { ok: false; reason: SignatureProblem };

export type ParsedSignature =
  | { ok: true; timestamp: string; digests: string[] }
  | { ok: false; reason: SignatureProblem };

/** A secret as a key, created once for many signatures. Throws if it is blank: anyone could sign with that. */
export function signingKey(secret: string): KeyObject {
  if (secret.trim() === "") throw new TypeError("A signing secret must not be blank.");
  return createSecretKey(secret, "utf8");
}

/**
 * The value of the signature header for `body`, signed at `timestampSeconds` of Unix time (SPEC §6 Signature).
 * A string body is signed as its UTF-8 bytes.
 */
export function sign(options: {
  body: Uint8Array | string;
  secret: string | KeyObject;
  timestampSeconds: number;
}): string {
  const t = String(options.timestampSeconds);
  return `t=${t},v1=${hmac(options.secret, t, options.body).digest("hex")}`;
}

/**
 * Verifies that `body`, byte for byte as received, was signed with one of `secrets` within the tolerance of `nowSeconds`
 * (SPEC §6 Signature, verification rules 1 to 5). `headers` holds every value of the signature header, unjoined. Returns
 * which secret matched; never throws.
 */
export function verify(options: {
  headers: readonly string[];
  body: Uint8Array;
  secrets: readonly (string | KeyObject)[];
  nowSeconds: number;
}): Verification {
  const parsed = parseSignature(options.headers);
  if (!parsed.ok) return parsed;

  const timestampSeconds = Number(parsed.timestamp);
  const ageSeconds = options.nowSeconds - timestampSeconds;
  if (ageSeconds < -SIGNATURE_TOLERANCE_SECONDS) return { ok: false, reason: "timestamp_too_new" };
  // Also true if `nowSeconds` is not a number.
  if (!(ageSeconds <= SIGNATURE_TOLERANCE_SECONDS)) return { ok: false, reason: "timestamp_too_old" };

  const candidates = parsed.digests.map((hex) => Buffer.from(hex, "hex"));
  for (const [secretIndex, secret] of options.secrets.entries()) {
    if (typeof secret === "string" && secret.trim() === "") continue;
    // Signs t as written, not as a number: the sender signed those characters.
    const expected = hmac(secret, parsed.timestamp, options.body).digest();
    // The grammar requires 32 bytes of each candidate, so unequal lengths cannot make this throw.
    if (candidates.some((candidate) => timingSafeEqual(candidate, expected))) {
      return { ok: true, timestampSeconds, secretIndex };
    }
  }
  return { ok: false, reason: "no_match" };
}

/**
 * Parses a signature header: comma-separated key=value pairs in any order, exactly one `t`, one to eight `v1`; unknown keys
 * are ignored. Stricter than honest senders need, since every leniency is something an attacker could use.
 */
export function parseSignature(headers: readonly string[]): ParsedSignature {
  const [header] = headers;
  if (header === undefined) return { ok: false, reason: "header_missing" };
  if (headers.length > 1) return { ok: false, reason: "header_repeated" };
  if (header === "") return { ok: false, reason: "header_empty" };
  if (header.length > MAXIMUM_HEADER_LENGTH) return { ok: false, reason: "header_too_long" };

  const timestamps: string[] = [];
  const digests: string[] = [];
  for (const pair of header.split(",")) {
    const [, key, value = ""] = PAIR.exec(pair) ?? [];
    if (key === undefined) return { ok: false, reason: "pair_malformed" };
    if (key === "t") timestamps.push(value);
    if (key === "v1") digests.push(value);
  }

  const [timestamp] = timestamps;
  if (timestamp === undefined) return { ok: false, reason: "timestamp_missing" };
  if (timestamps.length > 1) return { ok: false, reason: "timestamp_repeated" };
  if (!TIMESTAMP.test(timestamp)) return { ok: false, reason: "timestamp_malformed" };
  if (digests.length === 0) return { ok: false, reason: "signature_missing" };
  if (digests.length > MAXIMUM_SIGNATURES) return { ok: false, reason: "signatures_too_many" };
  if (!digests.every((hex) => DIGEST.test(hex))) return { ok: false, reason: "signature_malformed" };
  return { ok: true, timestamp, digests };
}

function hmac(secret: string | KeyObject, timestamp: string, body: Uint8Array | string): Hmac {
  return createHmac("sha256", typeof secret === "string" ? signingKey(secret) : secret)
    .update(`${timestamp}.`)
    .update(body);
}
