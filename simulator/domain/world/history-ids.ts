import { hash } from "node:crypto";
import { mix32 } from "../random.ts";

const ROUNDS = 4;
/** Each of the two numbers in an id. */
const HEX_CHARACTERS = 8;

/** Ids of the generated history that encode organization and index, so that they need no table. */
export function createHistoryIds(seed: number, prefix: string) {
  const digest = hash("sha256", JSON.stringify(["history ids", seed, prefix]), "buffer");
  const keys = Array.from({ length: ROUNDS }, (_, round) => digest.readInt32LE(round * 4));
  const form = new RegExp(`^${prefix}([0-9a-f]{${HEX_CHARACTERS}})([0-9a-f]{${HEX_CHARACTERS}})$`);

  return {
    /** The id of call `index` of organization number `organization`, both below 2^32. */
    encode: (organization: number, index: number): string => {
      // A Feistel network, which can be run backwards.
      let [left, right] = [organization, index];
      for (const key of keys) [left, right] = [right, left ^ mix32(right ^ key)];
      return `${prefix}${hex(left)}${hex(right)}`;
    },
    /** The numbers that `encode` got; undefined for a text of another form, and any numbers for an unknown id. */
    decode: (id: string): { organization: number; index: number } | undefined => {
      const [, leftHex, rightHex] = form.exec(id) ?? [];
      if (leftHex === undefined || rightHex === undefined) return undefined;
      let [left, right] = [Number.parseInt(leftHex, 16), Number.parseInt(rightHex, 16)];
      for (const key of keys.toReversed()) [left, right] = [right ^ mix32(left ^ key), left];
      return { organization: left >>> 0, index: right >>> 0 };
    },
  };
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(HEX_CHARACTERS, "0");
}
