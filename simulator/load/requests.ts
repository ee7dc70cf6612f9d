import { EVENT_TYPES } from "../../shared/events.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { wireHeaders } from "../domain/attempt-request.ts";
import { requestBytes } from "../sender/request-bytes.ts";
import { hash } from "node:crypto";

const ID_DIGITS = 16;
const PLACE_OF_ID = "f".repeat(ID_DIGITS);
const PLACE_OF_DIGEST = "0".repeat(64);

/**
 * Whole requests, each with an event of its own, every type in turn. Of one type they differ in the id and the signature
 * alone, so they are made by writing those into a copy, which takes a tenth of the time of making them up.
 */
export function createRequests(options: {
  url: URL;
  secret: string;
  /** 16 hexadecimal digits that no other run has. */
  runId: string;
  nowSeconds: () => number;
}) {
  const { nowSeconds } = options;
  let madeAtSeconds = Number.NaN;
  let templates: ReturnType<typeof createTemplate>[] = [];

  return {
    /** The request with event `number` of this run, signed now: the same number has the same id. */
    bytes(number: number): Buffer {
      const seconds = nowSeconds();
      if (seconds !== madeAtSeconds) {
        madeAtSeconds = seconds;
        templates = EVENT_TYPES.map((type) => createTemplate({ ...options, type, seconds }));
      }
      const template = templates[number % templates.length];
      if (template === undefined) throw new Error("There is no event type.");
      return template(number.toString(16).padStart(ID_DIGITS, "0"));
    },
  };
}

/** Requests of one type within one second. */
function createTemplate(options: {
  url: URL;
  secret: string;
  runId: string;
  type: (typeof EVENT_TYPES)[number];
  seconds: number;
}): (digits: string) => Buffer {
  const { url, secret, runId, type, seconds } = options;
  const envelope = sampleEnvelope(type, { id: `evt_${runId}${PLACE_OF_ID}`, created: seconds });
  const body = Buffer.from(JSON.stringify(envelope));
  const signedAt = `${seconds}.`;
  const signer = createSigner({ secret, signedBytes: signedAt.length + body.byteLength });
  signer.signed.write(signedAt, "latin1");
  signer.signed.set(body, signedAt.length);

  const signature = `t=${seconds},v1=${PLACE_OF_DIGEST}`;
  const headers = wireHeaders({ url: url.href, keepAlive: true, signature, body });
  const template = requestBytes({ url: url.href, headers, body });
  const bodyAt = template.byteLength - body.byteLength;
  const idAt = body.indexOf(PLACE_OF_ID);
  const digestAt = template.indexOf(PLACE_OF_DIGEST);

  return (digits) => {
    const bytes = Buffer.allocUnsafe(template.byteLength);
    bytes.set(template);
    bytes.write(digits, bodyAt + idAt, "latin1");
    signer.signed.write(digits, signedAt.length + idAt, "latin1");
    bytes.write(signer.digest(), digestAt, "latin1");
    return bytes;
  };
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

/**
 * Signs bodies of one length again and again (SPEC §6 Signature): HMAC-SHA256 of `signed`, which may be changed in place
 * between two calls. It is written out after RFC 2104, since setting up an HMAC takes longer than computing one.
 */
export function createSigner(options: { secret: string; signedBytes: number }) {
  const key = keyBlock(options.secret);
  const inner = Buffer.alloc(BLOCK_BYTES + options.signedBytes);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  inner.set(key.map((byte) => byte ^ INNER_PAD));
  outer.set(key.map((byte) => byte ^ OUTER_PAD));

  return {
    /** The bytes that are signed; write them here. */
    signed: inner.subarray(BLOCK_BYTES),
    /** The lower-case hexadecimal digest of what stands in `signed` now. */
    digest(): string {
      outer.set(hash("sha256", inner, "buffer"), BLOCK_BYTES);
      return hash("sha256", outer, "hex");
    },
  };
}

/** A key that is longer than a block is hashed first. */
function keyBlock(secret: string): Buffer {
  const bytes = Buffer.from(secret);
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(bytes.byteLength > BLOCK_BYTES ? hash("sha256", bytes, "buffer") : bytes);
  return block;
}
