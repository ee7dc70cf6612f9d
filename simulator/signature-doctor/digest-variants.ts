import { createHash, createHmac } from "node:crypto";
import type { Deviation } from "./deviation.ts";

/** A way to make a digest of a key and a message. */
export type DigestVariant = {
  deviation: Deviation | undefined;
  digest: (key: Buffer, message: Buffer) => Buffer;
};

const HMAC = "The digest is HMAC-SHA256, keyed with the secret: use the HMAC function of your language.";

/** HMAC-SHA256, and what is used in its place. */
export const DIGEST_VARIANTS: readonly DigestVariant[] = [
  { deviation: undefined, digest: hmac("sha256") },
  ...(["sha1", "sha512", "sha384", "md5"] as const).map((algorithm) => ({
    deviation: {
      id: `digest-${algorithm}`,
      title: `The digest was made with HMAC-${algorithm.toUpperCase()}.`,
      fix: HMAC,
    },
    digest: hmac(algorithm),
  })),
  plain(
    "secret-first",
    "a plain SHA-256 of the secret followed by the message, which is no HMAC",
    (key, message) => [key, message],
  ),
  plain(
    "secret-last",
    "a plain SHA-256 of the message followed by the secret, which is no HMAC",
    (key, message) => [message, key],
  ),
  plain("no-secret", "a plain SHA-256 of the message, without the secret", (_key, message) => [message]),
  {
    deviation: {
      id: "digest-swapped",
      title: "Key and message of the HMAC were swapped.",
      fix: "Look at the order of arguments: the secret is the key, t and body are the message.",
    },
    digest: (key, message) => hmac("sha256")(message, key),
  },
];

/** How a digest that is right can be written wrongly. The first spelling is the right one. */
export const SPELLINGS: readonly { deviation: Deviation | undefined; spell: (digest: Buffer) => string }[] = [
  { deviation: undefined, spell: (digest) => digest.toString("hex") },
  spelling("upper-case", "upper-case hexadecimal", (digest) => digest.toString("hex").toUpperCase()),
  spelling("base64", "Base64", (digest) => digest.toString("base64")),
  spelling("base64url", "URL-safe Base64", (digest) => digest.toString("base64url")),
  spelling("base64-of-hex", "Base64 of its hexadecimal text", (digest) =>
    Buffer.from(digest.toString("hex")).toString("base64"),
  ),
  spelling("hex-of-base64", "hexadecimal of its Base64 text", (digest) =>
    Buffer.from(digest.toString("base64")).toString("hex"),
  ),
  spelling("latin1", "a text of its bytes", (digest) => digest.toString("latin1")),
];

function hmac(algorithm: string) {
  return (key: Buffer, message: Buffer) => createHmac(algorithm, key).update(message).digest();
}

function plain(id: string, what: string, parts: (key: Buffer, message: Buffer) => Buffer[]): DigestVariant {
  return {
    deviation: { id: `digest-${id}`, title: `The digest was ${what}.`, fix: HMAC },
    digest: (key, message) => {
      const hash = createHash("sha256");
      for (const part of parts(key, message)) hash.update(part);
      return hash.digest();
    },
  };
}

function spelling(id: string, what: string, spell: (digest: Buffer) => string) {
  return {
    deviation: {
      id: `spelling-${id}`,
      title: `The digest was written as ${what}.`,
      fix: "v1 is the digest in lower-case hexadecimal, 64 characters.",
    },
    spell,
  };
}
