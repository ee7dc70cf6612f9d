/** How a signature header is made, as data (SPEC §6): read by the wire, the printed shell lines, and `explain`. */
export type SignatureRecipe = {
  /** The value of `t`, as it is sent and signed. */
  t: readonly Part[];
  /** The values of the signature header, one for each header; none omits it. */
  headers: readonly (readonly Part[])[];
  /** Keys the digests in place of the signing secret. */
  key?: string | undefined;
  /** The bytes of `BODY`, if other bytes are signed than sent. */
  signedBody?: Uint8Array | undefined;
};

/** A part of a header, of `t`, or of the hashed data: text, bytes, or something that depends on the delivery. */
export type Part = string | Uint8Array | typeof T | typeof BODY | Moment | Digest;

export const T = { kind: "t" } as const;

export const BODY = { kind: "body" } as const;

/** A point in time in Unix seconds, so long before the delivery; after it when negative. */
export type Moment = { kind: "moment"; ageSeconds: number };

export function moment(ageSeconds: number): Moment {
  return { kind: "moment", ageSeconds };
}

/** A digest and its encoding; by default the service's own. */
export type Digest = {
  kind: "digest";
  /** The hashed data; by default `t`, a period and the body. */
  message?: readonly Part[] | undefined;
  /** A text used as the key in place of the secret, or derived from it; a plain text is not secret. */
  key?: string | ((secret: string) => Uint8Array);
  body?: (signed: Buffer) => Uint8Array;
  /** HMAC-SHA256 unless given. */
  hash?: (key: Uint8Array, message: Uint8Array) => Buffer;
  /** Lower-case hexadecimal unless given. */
  spelling?: Spelling;
  keep?: number;
  wrongDigit?: "first" | "last";
};

export type Spelling =
  | "hex"
  | "upper-case hex"
  | "base64"
  | "base64url"
  | "base64 of hex"
  | "hex of base64"
  | "latin1";

/** The `v1` of SPEC §6 Signature; `changes` say what differs. */
export function digest(changes: Omit<Digest, "kind"> = {}): Digest {
  return { kind: "digest", ...changes };
}

export const V1 = digest();

/** The value of a header: `` header`t=${T},v1=${V1}` ``. */
export function header(texts: TemplateStringsArray, ...parts: Part[]): Part[] {
  return texts.flatMap((text, index) => [text, parts[index] ?? ""]).filter((part) => part !== "");
}

export const GENUINE: SignatureRecipe = { t: [moment(0)], headers: [header`t=${T},v1=${V1}`] };
