import { nat } from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * Any character of Unicode, as a unit of `fc.string`. The "binary" of fast-check is the same, and makes a table of all of
 * them first, which takes half a second in every place.
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
