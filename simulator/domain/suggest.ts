/** Longer words are not compared, since that would take long. */
const LONGEST_WORD_CHARACTERS = 100;

/** ` Did you mean "x"?` for the end of an error message, or nothing when no candidate is close. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  if (word.length > LONGEST_WORD_CHARACTERS) return "";
  const closest = candidates
    // A word of twice the length is not close, and need not be compared.
    .filter((candidate) => word.length <= 2 * candidate.length)
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, Math.floor(candidate.length / 3)))
    .toSorted((left, right) => left.distance - right.distance)[0];
  return closest === undefined ? "" : ` Did you mean "${closest.candidate}"?`;
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
