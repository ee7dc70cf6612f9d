import { times, type Run } from "./run.ts";

/**
 * Verify's long runs: each example many times without options, and as often with its effects read back; what differs
 * from one in a way that only waiting shows; and the `again:` line of every check, pasted into bash.
 */
export const runs: Run[] = [
  {
    name: "examples under verify",
    minutes: 20,
    files: ["test/examples/receivers.slow.test.ts", "test/examples/twins.slow.test.ts"],
    // Twice at least: what waiting shows needs a second round.
    environment: (size) => ({ VERIFY_ROUNDS: String(Math.max(2, Number(times(20, size)))) }),
  },
  {
    name: "again: lines of verify",
    minutes: 3,
    pace: "fixed",
    files: ["test/verify/again.slow.test.ts"],
    environment: () => ({ VERIFY_AGAIN: "every check" }),
  },
  {
    name: "every check on every mutant",
    minutes: 2,
    pace: "fixed",
    files: ["test/mutants"],
    environment: () => ({ VERIFY_MUTANTS: "every check" }),
  },
];
