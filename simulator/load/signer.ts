import { hash } from "node:crypto";

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
