import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const FOLDER = join(import.meta.dirname, "../../examples/test-runners");

/** Makes Node.js resolve the kit to its sources; the long run tries the installed package. */
const FROM_SOURCE = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier === "voice-agent-webhook-kit/simulator" ? ${JSON.stringify(
        new URL("../../simulator/index.ts", import.meta.url).href,
      )} : specifier, context),
  });
`)}`;

test("the example for node:test passes", () => {
  const ran = spawnSync("node", ["--import", FROM_SOURCE, "--test", "node.test.mjs"], {
    cwd: FOLDER,
    encoding: "utf8",
    timeout: 120_000,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
  });
  expect(ran.stdout).toMatch(/pass 2\n/);
  expect(ran.status).toBe(0);
});
