type Named = { words: string; also?: string | undefined };

/**
 * The choices that have every typed word in them, the best first: what begins with a word before what has one that begins
 * with it, and the choice's own words before other words for it.
 */
export function ranked<Choice extends Named>(choices: readonly Choice[], typed: string): Choice[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return choices
    .map((choice) => ({ choice, rank: Math.max(0, ...words.map((word) => rankOf(choice, word))) }))
    .filter(({ rank }) => rank < Infinity)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ choice }) => choice);
}

function rankOf({ words, also = "" }: Named, word: string): number {
  const [own, other] = [` ${words.toLowerCase()}`, ` ${also.toLowerCase()}`];
  if (own.startsWith(` ${word}`)) return 0;
  if (own.includes(` ${word}`)) return 1;
  if (other.includes(` ${word}`)) return 2;
  return own.includes(word) || other.includes(word) ? 3 : Infinity;
}
