type Named = { words: string; also?: string | undefined };

/**
 * The choices that contain every typed word, best first: a match at the beginning before a match at the beginning of a word,
 * and the choice's own words before its other words.
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
