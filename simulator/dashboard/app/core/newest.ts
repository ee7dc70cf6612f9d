/**
 * Of answers to one question that are on their way at the same time, the newest counts: another connection can bring the
 * older one later.
 */
export function createNewest() {
  let asked = 0;
  let taken = 0;
  return {
    /** Calls `take` with what `answering` brings, unless something newer was there first; answers what it brought. */
    async of<Answer>(answering: Promise<Answer>, take: (answer: Answer) => void): Promise<Answer> {
      const own = ++asked;
      const answer = await answering;
      if (own > taken && answer !== undefined) {
        taken = own;
        take(answer);
      }
      return answer;
    },
    /** Something newer than all that was asked for so far has become known otherwise. */
    overtake(): void {
      taken = asked;
    },
  };
}
