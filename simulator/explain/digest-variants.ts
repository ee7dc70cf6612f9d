import { createHash, createHmac } from "node:crypto";
import type { Spelling } from "../signature-recipe/recipe.ts";
import type { Departure } from "./deviation.ts";

const HMAC = "The digest is HMAC-SHA256, keyed with the secret: use the HMAC function of your language.";

/** Functions that are used by mistake instead of HMAC-SHA256. */
export const DIGEST_VARIANTS: readonly Departure[] = [
  ...(["sha1", "sha512", "sha384", "md5"] as const).map((algorithm) => ({
    deviation: {
      id: `digest-${algorithm}`,
      title: `The digest was made with HMAC-${algorithm.toUpperCase()}.`,
      fix: HMAC,
    },
    change: { hash: hmac(algorithm) },
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
    change: { hash: (key, message) => hmac("sha256")(message, key) },
  },
];

/** How a digest that is right can be written wrongly. */
export const SPELLING_VARIANTS: readonly (Departure & { change: { spelling: Spelling } })[] = [
  written("upper-case", "upper-case hexadecimal", "upper-case hex"),
  written("base64", "Base64", "base64"),
  written("base64url", "URL-safe Base64", "base64url"),
  written("base64-of-hex", "Base64 of its hexadecimal text", "base64 of hex"),
  written("hex-of-base64", "hexadecimal of its Base64 text", "hex of base64"),
  written("latin1", "a text of its bytes", "latin1"),
];

function hmac(algorithm: string) {
  return (key: Uint8Array, message: Uint8Array) => createHmac(algorithm, key).update(message).digest();
}

function plain(
  id: string,
  what: string,
  parts: (key: Uint8Array, message: Uint8Array) => Uint8Array[],
): Departure {
  return {
    deviation: { id: `digest-${id}`, title: `The digest was ${what}.`, fix: HMAC },
    change: {
      hash(key, message) {
        const hash = createHash("sha256");
        for (const part of parts(key, message)) hash.update(part);
        return hash.digest();
      },
    },
  };
}

function written(id: string, what: string, spelling: Spelling) {
  return {
    deviation: {
      id: `spelling-${id}`,
      title: `The digest was written as ${what}.`,
      fix: "v1 is the digest in lower-case hexadecimal, 64 characters.",
    },
    change: { spelling },
  };
}
