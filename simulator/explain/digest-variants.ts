import { createHash, createHmac } from "node:crypto";
import type { Digest, Spelling } from "../signature-recipe/recipe.ts";
import type { Departure } from "./deviation.ts";

const HMAC = "The digest is HMAC-SHA256, keyed with the secret: use the HMAC function of your language.";
const SWAPPED = "Look at the order of arguments: the secret is the key, t and body are the message.";
export const HEX = "v1 is the digest in lower-case hexadecimal, 64 characters.";
const PLAIN = "The digest was a plain SHA-256 of";

type Hash = NonNullable<Digest["hash"]>;

const HASHES: [id: string, title: string, hash: Hash, fix?: string][] = [
  ...["sha1", "sha512", "sha384", "md5"].map((algorithm): [string, string, Hash] => [
    algorithm,
    `The digest was made with HMAC-${algorithm.toUpperCase()}.`,
    (key, message) => createHmac(algorithm, key).update(message).digest(),
  ]),
  ["secret-first", `${PLAIN} secret and message, which is no HMAC.`, (key, message) => plain(key, message)],
  ["secret-last", `${PLAIN} message and secret, which is no HMAC.`, (key, message) => plain(message, key)],
  ["no-secret", `${PLAIN} the message, without the secret.`, (_key, message) => plain(message)],
  ["swapped", "Key and message of the HMAC were swapped.", swapped, SWAPPED],
];

/** Functions that are used by mistake instead of HMAC-SHA256. */
export const DIGEST_VARIANTS: readonly Departure[] = HASHES.map(([id, title, hash, fix = HMAC]) => ({
  deviation: { id: `digest-${id}`, title, fix },
  change: { hash },
}));

const SPELLINGS: [id: string, what: string, spelling: Spelling][] = [
  ["upper-case", "upper-case hexadecimal", "upper-case hex"],
  ["base64", "Base64", "base64"],
  ["base64url", "URL-safe Base64", "base64url"],
  ["base64-of-hex", "Base64 of its hexadecimal text", "base64 of hex"],
  ["hex-of-base64", "hexadecimal of its Base64 text", "hex of base64"],
  ["latin1", "a text of its bytes", "latin1"],
];

export const SPELLING_VARIANTS = SPELLINGS.map(([id, what, spelling]) => ({
  deviation: { id: `spelling-${id}`, title: `The digest was written as ${what}.`, fix: HEX },
  change: { spelling },
}));

function plain(...parts: Uint8Array[]): Buffer {
  return createHash("sha256").update(Buffer.concat(parts)).digest();
}

function swapped(key: Uint8Array, message: Uint8Array): Buffer {
  return createHmac("sha256", message).update(key).digest();
}
