import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

test("a test that blocks its event loop ends the run, with its name", () => {
  const folder = mkdtempSync(join("node_modules/.cache", "spinning-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(
    join(folder, "spins.test.ts"),
    `import { test } from "vitest";
    test("ends", () => {});
    test("spins", async () => { for (;;) await null; });`,
  );
  const config = {
    root: folder,
    test: { setupFiles: [join(import.meta.dirname, "event-loop-watchdog.ts")], isolate: false },
  };
  writeFileSync(join(folder, "vitest.config.mjs"), `export default ${JSON.stringify(config)}`);
  const { status, stderr } = spawnSync(
    "npx",
    ["vitest", "run", "--config", join(folder, "vitest.config.mjs")],
    { encoding: "utf8", env: { ...process.env, EVENT_LOOP_LIMIT_SECONDS: "3", NO_COLOR: "1" } },
  );
  expect(status).toBe(1);
  expect(stderr).toContain("did not turn for 3 s, so the worker was killed: spins.test.ts > spins");
});
