import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { projectWithKit } from "./installed.ts";

const MOST_BYTES = 2_000_000;

const exportSchema = z.union([
  z.string(),
  z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
]);
const manifestSchema = z.looseObject({
  bin: z.record(z.string(), z.string()),
  exports: z.record(z.string(), exportSchema),
  dependencies: z.record(z.string(), z.string()),
});

/** Begins as users do; whatever is not what it says fails to compile. */
const ESM = `
import { startSimulator, type RunningSimulator, type DeliveryRecord, type StartOptions } from "voice-agent-webhook-kit/simulator";
const options: StartOptions = { seed: 3, readings: { limit_out_of_range: "clamp" }, faults: ["drop-answer:1"] };
await using simulator: RunningSimulator = await startSimulator(options);
const { events, deliveries } = await simulator.emit("call.completed");
const first: DeliveryRecord | undefined = deliveries[0];
const id: string | undefined = events[0]?.id;
console.log(id, first?.attempts[0]?.request.body.toString("utf8"));
// @ts-expect-error there is no such option
await startSimulator({ sed: 3 });
// @ts-expect-error there is no such event type
await simulator.emit("call.complete");
`;
const COMMONJS = `
import kit = require("voice-agent-webhook-kit/simulator");
async function main(): Promise<void> {
  const simulator: kit.RunningSimulator = await kit.startSimulator({ clock: "skip" });
  const { deliveries } = await simulator.emit("order.created");
  const state: "attempting" | "delivered" | "dead" | undefined = deliveries[0]?.state;
  console.log(state);
  // @ts-expect-error there is no such option
  await kit.startSimulator({ sed: 3 });
}
void main();
`;
const COMPILE = "--noEmit --ignoreConfig --strict --skipLibCheck false --target es2024 --lib es2024 --types";

test("the package is small, has what it names, compiles under skipLibCheck: false, and loads by import and require", () => {
  const project = projectWithKit();
  const { kit } = project;
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(kit, "package.json"), "utf8")));

  const named = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string"
      ? [target]
      : Object.values(target).flatMap(({ types, default: code }) => [types, code]),
  );
  const missing = [...named, ...Object.values(manifest.bin)].filter((file) => !existsSync(join(kit, file)));
  expect(missing).toEqual([]);
  // `npx voice-agent-webhook-kit dev` runs the bin that is named as the package.
  expect(manifest.bin["voice-agent-webhook-kit"]).toBe(manifest.bin["voice-agent-simulator"]);
  for (const program of Object.values(manifest.bin)) {
    expect(readFileSync(join(kit, program), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  }
  const sources = globSync("**/*.{ts,cts}", { cwd: kit, exclude: ["**/*.d.{ts,cts}"] });
  expect(sources).toEqual([]);

  const bytes = globSync("**/*", { cwd: kit }).reduce((sum, file) => sum + statSync(join(kit, file)).size, 0);
  expect(bytes).toBeLessThan(MOST_BYTES);

  // What the types need, and no other dependency.
  project.lend("zod", "@types/node", "undici-types", "typescript");
  project.write("use.mts", ESM);
  project.write("use.ts", ESM);
  project.write("use.cts", COMMONJS);
  const tsc = (line: string) =>
    project.run("node", "node_modules/typescript/bin/tsc", ...COMPILE.split(" "), "", ...line.split(" "));
  expect(tsc("--module nodenext use.mts use.cts")).toEqual({ status: 0, output: "" });
  expect(tsc("--module preserve --moduleResolution bundler use.ts")).toEqual({ status: 0, output: "" });

  project.lend(...Object.keys(manifest.dependencies).filter((name) => name !== "zod"));
  project.write(
    "require.cjs",
    `require("voice-agent-webhook-kit/simulator").startSimulator({ calls: 0 }).then((s) => s.close()).then(() => console.log("closed"))`,
  );
  expect(project.run("node", "require.cjs")).toEqual({ status: 0, output: "closed\n" });
  project.write(
    "import.mjs",
    `import { startSimulator } from "voice-agent-webhook-kit/simulator"; await (await startSimulator({ calls: 0 })).close(); console.log("closed");`,
  );
  expect(project.run("node", "import.mjs")).toEqual({ status: 0, output: "closed\n" });
});
