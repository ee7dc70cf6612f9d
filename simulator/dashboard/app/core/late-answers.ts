/**
 * What the stream tells while an answer is on its way may be newer than the answer: it is applied at once, and again after
 * the answer was taken.
 */
export function createMeanwhile() {
  const underWay = new Set<(() => void)[]>();
  return {
    tell(happen: () => void): void {
      for (const told of underWay) told.push(happen);
      happen();
    },
    /** Calls `take` with what `answering` brings; what was told meanwhile follows, unless that answers false. */
    async of<Answer>(answering: Promise<Answer>, take: (answer: Answer) => unknown): Promise<void> {
      const told: (() => void)[] = [];
      underWay.add(told);
      try {
        if (take(await answering) === false) return;
        for (const happen of told) happen();
      } finally {
        underWay.delete(told);
      }
    },
  };
}

const MOST_PATIENCE_MS = 4_000;

/**
 * How long to wait until a question is asked again: a few times as long as its last answer took, `leastMs` at the least, so
 * that a simulator that is busy sending has most of its time for that.
 */
export function createPatience(leastMs: number) {
  let tookMs = 0;
  return {
    ms: () => Math.max(leastMs, Math.min(MOST_PATIENCE_MS, 4 * tookMs)),
    async time<Answer>(answering: Promise<Answer>): Promise<Answer> {
      const startedAt = performance.now();
      return answering.finally(() => (tookMs = performance.now() - startedAt));
    },
  };
}

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
