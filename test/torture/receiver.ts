import { spawnSync } from "node:child_process";

/**
 * The receiver's long runs: the same tests as `npm test`, many times over or with many more cases. Run them with
 * `npm run torture`; give a factor to shorten or lengthen them, 1 being about an hour on two cores.
 */
const factor = Number(process.argv[2] ?? 1);
const times = (count: number): string => String(Math.max(1, Math.round(count * factor)));

const runs: { name: string; files: string[]; environment: Record<string, string> }[] = [
  {
    name: "signature headers",
    files: ["test/shared/signature-fuzz.test.ts"],
    environment: { FUZZ_HEADERS: times(100_000_000) },
  },
  {
    name: "properties",
    files: ["test/receiver/properties.test.ts"],
    environment: { PROPERTY_RUNS: times(100_000) },
  },
  {
    name: "mutated requests",
    files: ["test/receiver/mutated-requests.test.ts"],
    environment: { MUTATED_REQUESTS: times(100_000) },
  },
  {
    name: "power cuts",
    files: ["test/receiver/power-cut.test.ts"],
    environment: { POWER_CUT_IMAGES: times(100_000) },
  },
  { name: "kill -9", files: ["test/receiver/kill.test.ts"], environment: { KILL_CYCLES: times(1_000) } },
  ...Array.from({ length: Number(times(50)) }, (_, index) => ({
    name: `drain ${String(index + 1)}`,
    files: ["test/receiver/process.test.ts", "-t", "drains under load"],
    environment: {},
  })),
];

for (const { name, files, environment } of runs) {
  process.stdout.write(`${name}\n`);
  const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...files], {
    stdio: "inherit",
    env: { ...process.env, ...environment },
  });
  if (status !== 0) process.exitCode = 1;
}
