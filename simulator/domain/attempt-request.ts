import { envelopeSchema } from "../../shared/events.ts";
import { SIGNATURE_HEADER, sign } from "../../shared/signature.ts";
import type { FaultName } from "./faults.ts";
import type { Readings } from "./readings.ts";

export type AttemptRequest = {
  headers: Record<string, string>;
  body: Buffer;
  /** The `t` in the header. */
  signatureTimestamp: number;
};

const FAULTY_TIMESTAMP_SHIFT_SECONDS = 600;

/**
 * What goes on the wire for one attempt: always the same bytes, with a fresh `t` and `v1` (SPEC §6 Signature), unless a
 * fault or a reading says otherwise.
 */
export function attemptRequest(options: {
  body: Buffer;
  /** Each signs: one, or two while a rotated one overlaps. */
  secrets: readonly string[];
  number: number;
  wallNowMs: number;
  faults: ReadonlySet<FaultName>;
  readings: Readings;
}): AttemptRequest {
  const { secrets, faults, readings } = options;
  const isReserialized = readings.retry_body === "reserialized" && options.number > 1;
  const signedBody = isReserialized ? reserialize(options.body) : options.body;
  const signatureTimestamp = Math.floor(options.wallNowMs / 1000) + timestampShiftSeconds(faults);
  const [first = "", ...others] = secrets.map((secret) => {
    const key = faults.has("bad-signature") ? `not-${secret}` : secret;
    return sign({ body: signedBody, secret: key, timestampSeconds: signatureTimestamp });
  });

  let signature = [first, ...others.map((signed) => signed.slice(signed.indexOf("v1=")))].join(",");
  if (faults.has("missing-parts")) signature = `t=${signatureTimestamp}`;
  if (readings.signature_extra_keys === "present") signature += `,v0=${"0".repeat(64)},kid=1`;

  return {
    headers: { "content-type": "application/json", [SIGNATURE_HEADER.toLowerCase()]: signature },
    body: faults.has("tampered-body") ? tamper(signedBody) : signedBody,
    signatureTimestamp,
  };
}

function timestampShiftSeconds(faults: ReadonlySet<FaultName>): number {
  if (faults.has("stale-timestamp")) return -FAULTY_TIMESTAMP_SHIFT_SECONDS;
  return faults.has("future-timestamp") ? FAULTY_TIMESTAMP_SHIFT_SECONDS : 0;
}

/** The same JSON value in other bytes: keys in the opposite order, on lines of their own. */
function reserialize(body: Buffer): Buffer {
  const value: unknown = JSON.parse(body.toString());
  return Buffer.from(JSON.stringify(reordered(value), null, 2));
}

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, reordered(inner)]);
  return Object.fromEntries(entries.toReversed());
}

/** Says something else than what was signed, and is still an envelope: only the signature can tell. */
function tamper(body: Buffer): Buffer {
  const envelope = envelopeSchema.parse(JSON.parse(body.toString()));
  return Buffer.from(
    JSON.stringify({ ...envelope, api_version: envelope.api_version === "v2" ? "v1" : "v2" }),
  );
}
