/** Updates from the stream may be newer than an answer in progress: they are applied at once, and again after the answer. */
export function createMeanwhile() {
  const underWay = new Set<(() => void)[]>();
  return {
    repeat(happen: () => void): void {
      for (const happened of underWay) happened.push(happen);
      happen();
    },
    /** Calls `take` with the result of `answering`, then applies later updates, unless it returned false. */
    async of<Answer>(answering: Promise<Answer>, take: (answer: Answer) => unknown): Promise<void> {
      const happened: (() => void)[] = [];
      underWay.add(happened);
      try {
        if (take(await answering) === false) return;
        for (const happen of happened) happen();
      } finally {
        underWay.delete(happened);
      }
    },
  };
}

const MOST_PATIENCE_MS = 4_000;

/**
 * How long to wait before asking again: a few times as long as the last answer took, at least `leastMs`, so that a busy
 * simulator has most of its time for sending.
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

/** Of several answers to the same question, the newest counts: another connection may deliver an older one later. */
export function createNewest() {
  let asked = 0;
  let taken = 0;
  return {
    /** Calls `take` with the result of `answering`, unless something newer is known; returns the result. */
    async of<Answer>(answering: Promise<Answer>, take: (answer: Answer) => void): Promise<Answer> {
      const own = ++asked;
      const answer = await answering;
      if (own > taken && answer !== undefined) {
        taken = own;
        take(answer);
      }
      return answer;
    },
    /** Something newer than all requests so far has become known in another way. */
    overtake(): void {
      taken = asked;
    },
  };
}
