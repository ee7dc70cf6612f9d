import "./shared/node-version.ts";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/helpers/postgres/global-setup.ts"],
    setupFiles: ["test/helpers/seeded-properties.ts"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Many tests wait for a process, a socket or a clock: one more than the cores fills those waits.
    maxWorkers: 3,
    env: { NO_COLOR: "1" },
  },
});
