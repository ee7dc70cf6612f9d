/**
 * What the stream tells while an answer is on its way may be newer than the answer: it happens at once, and once more when
 * the answer was taken.
 */
export function createMeanwhile() {
  const underWay = new Set<(() => void)[]>();
  return {
    tell(happen: () => void): void {
      for (const told of underWay) told.push(happen);
      happen();
    },
    /** Calls `take` with what `answering` brings; what was told meanwhile follows, if it was taken. */
    async of<Answer>(answering: Promise<Answer>, take: (answer: Answer) => boolean): Promise<void> {
      const told: (() => void)[] = [];
      underWay.add(told);
      try {
        if (!take(await answering)) return;
        for (const happen of told) happen();
      } finally {
        underWay.delete(told);
      }
    },
  };
}
