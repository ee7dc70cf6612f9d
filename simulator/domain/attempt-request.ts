import { envelopeSchema } from "../../shared/events.ts";
import { SIGNATURE_HEADER, sign } from "../../shared/signature.ts";
import { parseExactly } from "./exact-json.ts";
import type { FaultName } from "./faults.ts";
import type { Readings } from "./readings.ts";

/** A request as it was sent: every header, in order. */
export type AttemptRequest = {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  signatureTimestamp: number;
};

const FAULTY_TIMESTAMP_SHIFT_SECONDS = 600;

/** The request of one attempt: the same bytes, with a fresh `t` and `v1` (SPEC §6), unless a fault or reading differs. */
export function attemptRequest(options: {
  url: string;
  body: Buffer;
  /** The secrets to sign with: one, or two while a rotated secret overlaps. */
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

  const body = faults.has("tampered-body") ? tamper(signedBody) : signedBody;
  const { url } = options;
  return { url, headers: wireHeaders({ url, signature, body }), body, signatureTimestamp };
}

export function wireHeaders(options: {
  url: string;
  /** Whether the connection is kept for reuse, as by `load`; an attempt has its own connection. */
  keepAlive?: boolean;
  signature: string;
  body: Uint8Array;
}): Record<string, string> {
  return {
    host: new URL(options.url).host,
    "content-type": "application/json",
    [SIGNATURE_HEADER.toLowerCase()]: options.signature,
    "content-length": String(options.body.byteLength),
    "user-agent": "voice-agent-service/1.0",
    accept: "*/*",
    connection: options.keepAlive === true ? "keep-alive" : "close",
  };
}

export function requestLine(url: string, method = "POST"): string {
  const { pathname, search } = new URL(url);
  return `${method} ${pathname}${search} HTTP/1.1`;
}

function timestampShiftSeconds(faults: ReadonlySet<FaultName>): number {
  if (faults.has("stale-timestamp")) return -FAULTY_TIMESTAMP_SHIFT_SECONDS;
  return faults.has("future-timestamp") ? FAULTY_TIMESTAMP_SHIFT_SECONDS : 0;
}

/** The same JSON value in other bytes: keys in the opposite order, on lines of their own. */
function reserialize(body: Buffer): Buffer {
  const value: unknown = parseExactly(body.toString());
  return Buffer.from(JSON.stringify(reordered(value), null, 2));
}

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  // A number kept as it was written has no keys to reorder.
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, reordered(inner)]);
  return Object.fromEntries(entries.toReversed());
}

/** Changes the body after signing into another valid envelope, which only the signature reveals. */
function tamper(body: Buffer): Buffer {
  const envelope = envelopeSchema.parse(parseExactly(body.toString()));
  return Buffer.from(
    JSON.stringify({ ...envelope, api_version: envelope.api_version === "v2" ? "v1" : "v2" }),
  );
}
