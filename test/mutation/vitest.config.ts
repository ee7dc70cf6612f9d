import { defineConfig } from "vitest/config";

/** The tests of one area alone, one after the other in one process, as the mutation tester runs them. */
export default defineConfig({
  test: {
    include: (process.env["MUTATION_TESTS"] ?? "").split(" "),
    globalSetup: ["test/helpers/run/setup.ts"],
    setupFiles: ["test/helpers/run/seeded-properties.ts"],
    testTimeout: 8_000,
    hookTimeout: 8_000,
    expect: { poll: { timeout: 4_000, interval: 20 } },
    isolate: false,
    env: { NO_COLOR: "1" },
  },
});
