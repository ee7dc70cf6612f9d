/**
 * One long run: test files, or a script. With size 1 it takes `minutes` on two cores; `--minutes` makes the runs smaller or
 * larger, but not those that are `fixed`. One that measures time is `alone` and comes first. One that mostly waits is
 * `beside`: it goes on next to all others that are not alone.
 */
export type Run = { name: string; minutes: number; pace?: "fixed" | "alone" | "beside" } & (
  | {
      /** The arguments of vitest after `run`. */
      files: string[];
      environment?: (size: number) => Record<string, string>;
    }
  | { script: string; arguments?: (size: number, seed: number) => string[] }
);

/** `count` times the size, rounded, and at least one. */
const times = (count: number, size: number): string => String(Math.max(1, Math.round(count * size)));

/** A test of test/borders at twenty times the size of `npm run test:all`. */
const border = (name: string, minutes: number, ...files: string[]): Run => ({
  name: `borders of ${name}`,
  minutes,
  pace: "fixed",
  files,
  environment: () => ({ BORDERS: "20" }),
});

const RECEIVER: Run[] = [
  {
    name: "properties",
    minutes: 4,
    files: ["test/receiver/intake/properties.test.ts", "test/receiver/operations/privacy.test.ts"],
    environment: (size) => ({ PROPERTY_RUNS: times(100_000, size) }),
  },
  {
    name: "mutated requests",
    minutes: 4,
    files: ["test/receiver/intake/mutated-requests.slow.test.ts"],
    environment: (size) => ({ MUTATED_REQUESTS: times(100_000, size) }),
  },
  {
    name: "power cuts",
    minutes: 6,
    files: ["test/receiver/store/power-cut.slow.test.ts"],
    environment: (size) => ({ POWER_CUT_IMAGES: times(100_000, size) }),
  },
  {
    name: "kill -9",
    minutes: 20,
    files: ["test/receiver/whole/kill.test.ts"],
    environment: (size) => ({ KILL_CYCLES: times(1_000, size) }),
  },
  {
    name: "slow clients",
    minutes: 0.5,
    pace: "fixed",
    files: ["test/receiver/intake/slow-clients.test.ts"],
    environment: () => ({ SLOW_CLIENTS: "real" }),
  },
  {
    name: "drain",
    minutes: 6,
    files: ["test/receiver/whole/process.test.ts", "-t", "drains under load"],
    environment: (size) => ({ DRAINS: times(50, size) }),
  },
  {
    name: "soak",
    minutes: 30,
    pace: "beside",
    script: "test/torture/soak.ts",
    // It has a minute of its own at the start and at the end.
    arguments: (size) => ["--minutes", String(Math.round(30 * size) - 2)],
  },
  {
    name: "receiver simulated",
    minutes: 10,
    script: "test/simulation/main.ts",
    arguments: (size, seed) => ["--seeds", times(1_500, size), "--from", String(seed)],
  },
  border("the receiver", 1, "test/borders/receiver.slow.test.ts"),
];

const SIMULATOR: Run[] = [
  {
    name: "delivery simulated",
    minutes: 25,
    script: "test/simulator/simulation/main.ts",
    arguments: (size, seed) => ["--seeds", times(10_000, size), "--from", String(seed)],
  },
  { name: "deadline of an attempt", minutes: 1, pace: "alone", script: "test/torture/deadlines.ts" },
  {
    name: "turns of an attempt",
    minutes: 1,
    pace: "alone",
    files: ["test/simulator/sender/flood.slow.test.ts"],
    environment: () => ({ FLOOD_TURNS: "measured" }),
  },
  border("the simulator", 1, "test/borders/simulator.slow.test.ts"),
  border("each wire, broken after every byte", 1.5, "test/borders/every-byte.slow.test.ts"),
];

const VERIFY: Run[] = [
  {
    name: "examples under verify",
    minutes: 20,
    files: ["test/examples/receivers.slow.test.ts"],
    // At least twice: some failures show only in a second round.
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

/** Needs a registry. */
const CREATE: Run[] = [
  { name: "projects made by create", minutes: 2, pace: "fixed", files: ["test/e2e/create.long.ts"] },
];

/** Every long run. */
export const RUNS: readonly Run[] = [...RECEIVER, ...SIMULATOR, ...VERIFY, ...CREATE];
