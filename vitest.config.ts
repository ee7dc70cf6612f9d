import "./tools/node-version.ts";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/helpers/run/longest-first.ts";

// What was compiled once need not be compiled again, in the workers and in every process that they start.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled");
// Far from UTC, so that a time of the wrong zone is noticed.
process.env["TZ"] ??= "Asia/Kolkata";

const { LONG_RUNS, TEST_ALL } = process.env;
/** A slow file that is named is meant. */
const isSlowNamed = process.argv.some((word) => word.includes(".slow."));

export default defineConfig(({ mode }) => {
  const isAll = mode === "all" || TEST_ALL !== undefined || LONG_RUNS !== undefined;
  return {
    test: {
      // `npm test` is without the slow ones, which are for `npm run test:all`; what takes minutes is for `npm run torture`.
      include: ["test/**/*.test.ts", ...(LONG_RUNS === undefined ? [] : ["test/**/*.long.ts"])],
      exclude: isAll || isSlowNamed ? [] : ["test/**/*.slow.test.ts"],
      globalSetup: ["test/helpers/run/setup.ts"],
      setupFiles: ["test/helpers/run/seeded-properties.ts", "test/helpers/run/event-loop-watchdog.ts"],
      // Ends what hangs (an event loop that never turns, the watchdog above); on a machine that does other work, an honest test takes several times as long as alone.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 60_000, interval: 20 } },
      // Many tests wait for a process, a socket or a clock: more of them than cores fill those waits.
      maxWorkers: 4,
      maxConcurrency: 20,
      // A worker goes on to the next file with what it has loaded: a sixth of the whole time. Tests put back what they change
      // of the process, and mock no modules.
      isolate: false,
      sequence: { sequencer: LongestFirst },
      env: { NO_COLOR: "1", ...(isAll ? { TEST_ALL: "1" } : {}) },
    },
  };
});
