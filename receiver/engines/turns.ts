/** How long the others go first after a suspect, if they never run out. */
const OTHERS_MS = 1_000;

/**
 * Whose turn it is: jobs whose worker vanished run alone, and after each of them (and when a worker starts) the others
 * have their turn first, until all were claimed that were due, or a second has passed. The same on both engines.
 */
export function createTurns(monotonicMs: () => number) {
  let othersUntilMs = monotonicMs() + OTHERS_MS;
  return {
    isOthers: (): boolean => monotonicMs() < othersUntilMs,
    /** There was nothing more to claim of the others. */
    othersHadTheirs: (): void => void (othersUntilMs = 0),
    suspectHadIts: (): void => void (othersUntilMs = monotonicMs() + OTHERS_MS),
  };
}
