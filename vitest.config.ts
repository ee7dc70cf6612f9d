import "./shared/node-version.ts";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    env: { NO_COLOR: "1" },
  },
});
