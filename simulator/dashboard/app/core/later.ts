import { useEffect } from "preact/hooks";

/**
 * Asks `afterMs` after `key` changed, and hands on what comes unless it has changed again. What `take` answers is after how
 * many milliseconds to ask again.
 */
export function useLater<Answer>(
  key: string,
  afterMs: number,
  ask: () => Promise<Answer>,
  take: (answer: Answer) => number | void,
): void {
  useEffect(() => {
    let isCurrent = true;
    let timer = setTimeout(run, afterMs);
    async function run() {
      const answer = await ask();
      const againMs = isCurrent ? take(answer) : undefined;
      if (againMs !== undefined) timer = setTimeout(run, againMs);
    }
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key]);
}
