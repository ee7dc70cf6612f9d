import { times, type Run } from "./run.ts";

/** The receiver's long runs: the same tests as `npm test`, many times over or with many more cases. */
export const runs: Run[] = [
  {
    name: "signature headers",
    minutes: 8,
    files: ["test/shared/signature-fuzz.test.ts"],
    environment: (size) => ({ FUZZ_HEADERS: times(100_000_000, size) }),
  },
  {
    name: "properties",
    minutes: 4,
    files: ["test/receiver/properties.test.ts", "test/receiver/privacy.test.ts"],
    environment: (size) => ({ PROPERTY_RUNS: times(100_000, size) }),
  },
  {
    name: "mutated requests",
    minutes: 4,
    files: ["test/receiver/mutated-requests.slow.test.ts"],
    environment: (size) => ({ MUTATED_REQUESTS: times(100_000, size) }),
  },
  {
    name: "power cuts",
    minutes: 6,
    files: ["test/receiver/power-cut.slow.test.ts", "test/receiver/power-cut-control.slow.test.ts"],
    environment: (size) => ({ POWER_CUT_IMAGES: times(100_000, size) }),
  },
  {
    name: "kill -9",
    minutes: 20,
    files: ["test/receiver/kill.test.ts"],
    environment: (size) => ({ KILL_CYCLES: times(1_000, size) }),
  },
  {
    name: "slow clients",
    minutes: 0.5,
    pace: "fixed",
    files: ["test/receiver/slow-clients.test.ts"],
    environment: () => ({ SLOW_CLIENTS: "real" }),
  },
  {
    name: "drain",
    minutes: 6,
    files: ["test/receiver/process.test.ts", "-t", "drains under load"],
    environment: (size) => ({ DRAINS: times(50, size) }),
  },
  {
    name: "lease in real time",
    minutes: 1,
    pace: "fixed",
    files: ["test/receiver/postgres/lease.long.ts"],
  },
  {
    name: "verify over PostgreSQL",
    minutes: 5,
    files: ["test/receiver/postgres/verify.long.ts"],
    environment: (size) => ({ VERIFY_POSTGRES: times(20, size) }),
  },
  {
    name: "race over PostgreSQL",
    minutes: 10,
    files: ["test/receiver/postgres/race-and-kill.slow.test.ts"],
    environment: (size) => ({ RACE_EVENTS: times(20_000, size), RACE_PAUSE_MS: "2000" }),
  },
  {
    name: "storage errors",
    minutes: 3,
    files: ["test/receiver/engines/statement-faults.slow.test.ts"],
    environment: (size) => ({ ERRORS_A_PLACE: times(45, size) }),
  },
  {
    name: "soak",
    minutes: 30,
    pace: "beside",
    script: "test/torture/soak.ts",
    // It starts with a minute of its own, and ends with one.
    arguments: (size) => ["--minutes", String(Math.round(30 * size) - 2)],
  },
  {
    name: "errors of PostgreSQL",
    minutes: 1,
    files: ["test/receiver/postgres/faults.slow.test.ts"],
    environment: () => ({ POSTGRES_FAULTS: "4" }),
  },
  {
    name: "killed moves",
    minutes: 1,
    files: ["test/receiver/postgres/move-killed.long.ts"],
  },
  {
    name: "receiver simulated",
    minutes: 10,
    script: "test/simulation/main.ts",
    arguments: (size, seed) => ["--seeds", times(1_500, size), "--from", String(seed)],
  },
];
