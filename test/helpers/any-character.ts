import { nat } from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * Any Unicode character, as a unit of `fc.string`. Same as the "binary" of fast-check, which first builds a table of all
 * characters: that takes half a second wherever it is used.
 */
export const anyCharacter = nat(0x10ffff - SURROGATES.count).map(
  (rank) => String.fromCodePoint(rank < SURROGATES.from ? rank : rank + SURROGATES.count),
  (text) => {
    const code = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== text || !text.isWellFormed())
      throw new Error("This is no character.");
    return code < SURROGATES.from ? code : code - SURROGATES.count;
  },
);
