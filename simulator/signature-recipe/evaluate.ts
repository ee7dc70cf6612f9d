import { createHmac } from "node:crypto";
import type { Digest, Part, SignatureRecipe, Spelling } from "./recipe.ts";

export type Occasion = { secret: string; body: Uint8Array; nowSeconds: number };

/** Applies a recipe: returns the values of the signature header, one for each header, byte for byte. */
export function evaluate(recipe: SignatureRecipe, occasion: Occasion): Buffer[] {
  const scene = {
    secret: recipe.key ?? occasion.secret,
    body: Buffer.from(recipe.signedBody ?? occasion.body),
    nowSeconds: occasion.nowSeconds,
    t: "",
  };
  const t = bytesOf(recipe.t, scene).toString("latin1");
  return recipe.headers.map((parts) => bytesOf(parts, { ...scene, t }));
}

/** The values for the parts; `t` is the text of the header's `t`. */
export type Scene = { secret: string; body: Buffer; nowSeconds: number; t: string };

/** The bytes of a digest, before their encoding. */
export function hashOf(recipe: Omit<Digest, "kind">, scene: Scene): Buffer {
  const { message, key = scene.secret, body = same, hash = hmacSha256 } = recipe;
  const keyBytes = typeof key === "string" ? Buffer.from(key) : key(scene.secret);
  const signed = Buffer.from(body(scene.body));
  const hashed =
    message === undefined
      ? Buffer.concat([Buffer.from(`${scene.t}.`), signed])
      : bytesOf(message, { ...scene, body: signed });
  return hash(keyBytes, hashed);
}

export const SPELL: Record<Spelling, (bytes: Buffer) => string> = {
  hex: (bytes) => bytes.toString("hex"),
  "upper-case hex": (bytes) => bytes.toString("hex").toUpperCase(),
  base64: (bytes) => bytes.toString("base64"),
  base64url: (bytes) => bytes.toString("base64url"),
  "base64 of hex": (bytes) => Buffer.from(bytes.toString("hex")).toString("base64"),
  "hex of base64": (bytes) => Buffer.from(bytes.toString("base64")).toString("hex"),
  latin1: (bytes) => bytes.toString("latin1"),
};

function bytesOf(parts: readonly Part[], scene: Scene): Buffer {
  return Buffer.concat(parts.map((part) => partBytes(part, scene)));
}

function partBytes(part: Part, scene: Scene): Buffer {
  if (typeof part === "string" || part instanceof Uint8Array) return Buffer.from(part);
  if (part.kind === "t") return Buffer.from(scene.t, "latin1");
  if (part.kind === "body") return scene.body;
  if (part.kind === "moment") return Buffer.from(String(scene.nowSeconds - part.ageSeconds));
  const text = SPELL[part.spelling ?? "hex"](hashOf(part, scene)).slice(0, part.keep);
  if (part.wrongDigit === "first") return Buffer.from(otherDigit(text.slice(0, 1)) + text.slice(1));
  if (part.wrongDigit === "last") return Buffer.from(text.slice(0, -1) + otherDigit(text.slice(-1)));
  return Buffer.from(text);
}

/** Another digit; the same as by the shell's `tr`. */
function otherDigit(digit: string): string {
  return digit === "0" ? "1" : "0";
}

function hmacSha256(key: Uint8Array, message: Uint8Array): Buffer {
  return createHmac("sha256", key).update(message).digest();
}

function same(body: Buffer): Buffer {
  return body;
}
