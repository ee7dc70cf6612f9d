import type { Clock } from "../clock.ts";

/**
 * Answers a function that calls `pass` after `afterMs`, unless what it answers is called first. Deadlines that are all
 * equally far away need one timer between them, and thousands of attempts a second come and go without one of their own.
 */
export function createDeadlines({
  afterMs,
  clock,
}: {
  afterMs: number;
  clock: Clock;
}): (pass: () => void) => () => void {
  // In the order in which they were set, which is the order in which they come.
  const set = new Set<{ atMs: number; pass: () => void }>();
  let armed = false;

  return (pass) => {
    const deadline = { atMs: clock.monotonicMs() + afterMs, pass };
    set.add(deadline);
    if (!armed) arm();
    return () => set.delete(deadline);
  };

  function arm(): void {
    const [first] = set;
    armed = first !== undefined;
    if (first) clock.after(Math.max(0, first.atMs - clock.monotonicMs()), passAll);
  }

  function passAll(): void {
    for (const deadline of set) {
      if (deadline.atMs > clock.monotonicMs()) break;
      set.delete(deadline);
      deadline.pass();
    }
    arm();
  }
}
