import "./shared/node-version.ts";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/helpers/longest-first.ts";

// What was compiled once need not be compiled again, in the workers and in every process that they start.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled");

export default defineConfig({
  test: {
    // What takes minutes is for `npm run torture`.
    include: ["test/**/*.test.ts", ...(process.env["LONG_RUNS"] === undefined ? [] : ["test/**/*.long.ts"])],
    globalSetup: ["test/helpers/postgres/global-setup.ts"],
    setupFiles: ["test/helpers/seeded-properties.ts"],
    // Ends what hangs; on a machine that does other work, an honest test takes several times as long as alone.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    // Many tests wait for a process, a socket or a clock: more of them than cores fill those waits.
    maxWorkers: 4,
    // A worker goes on to the next file with what it has loaded: a sixth of the whole time. Tests put back what they change
    // of the process, and mock no modules.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    env: { NO_COLOR: "1" },
  },
});
