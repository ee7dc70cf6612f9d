import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { projectWithKit } from "./installed.ts";

/** Of what is installed: both programs, the receiver as a library, the dashboard, the pages, and the examples of `create`. */
const MOST_BYTES = 2_400_000;
/** The time-out: the test builds, packs and installs, and then compiles the installed package several times. */
const TIMEOUT_MS = 600_000;

const exportSchema = z.union([
  z.string(),
  z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
]);
const manifestSchema = z.looseObject({
  bin: z.record(z.string(), z.string()),
  exports: z.record(z.string(), exportSchema),
  dependencies: z.record(z.string(), z.string()),
});

/** Begins as users do; a wrong type fails to compile. */
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
const RECEIVER_ESM = `
import { createServer } from "node:http";
import { createHandlerBench, createReceiver, unwrap, verifySignature, defineHandler, handlersWith, PermanentFailure, RetryAfter, objectSchemas, type HandlerBench, type MountedReceiver, type WebhookEvent } from "voice-agent-webhook-kit/receiver";
const receiver: MountedReceiver = await createReceiver({ signingSecrets: ["s"], environment: { RETENTION_DAYS: "3" }, handlers: new URL("./handlers.mjs", import.meta.url) });
createServer((request, response) => void receiver.middleware(request, response));
export const POST: (request: Request) => Promise<Response> = receiver.fetch;
const event: WebhookEvent = unwrap({ body: new Uint8Array(), header: "t=1", secrets: "s" });
if (event.type === "voicemail.created") console.log(event.data.object.message_text.length);
const verified = verifySignature({ body: "", header: null, secrets: [] });
if (!verified.ok) console.log(verified.reason);
export const handlers = [defineHandler({ name: "calls", type: "call.completed", handle: async (event) => {
  if ((event.data.object.duration_sec ?? 0) > 3) throw new RetryAfter(3);
  throw new PermanentFailure("no");
} })];
const createServices = async () => ({ services: { till: (id: string) => id.length } });
const withTill = handlersWith<typeof createServices>();
const till = withTill({ name: "till", type: "*", handle: async ({ id }, { services }) => void services.till(id) });
await createReceiver({ handlers: [...handlers, till], createServices });
// @ts-expect-error this handler needs services
await createReceiver({ handlers: [...handlers, till] });
// @ts-expect-error it needs other ones
await createReceiver({ handlers: [till], createServices: async () => ({ services: { till: 3 } }) });
const bench: HandlerBench = await createHandlerBench(handlers[0]!);
console.log((await bench.run(event)).outcome === "later");
console.log(objectSchemas["call.completed"].parse({}).phone, (await receiver.health()).ready);
// @ts-expect-error there is no such option
await createReceiver({ retentionDay: 3 });
`;
const RECEIVER_COMMONJS = `
import kit = require("voice-agent-webhook-kit/receiver");
async function main(): Promise<void> {
  const receiver: kit.MountedReceiver = await kit.createReceiver({ signingSecrets: ["s"] });
  await receiver.stop();
  const { type }: kit.WebhookEvent = kit.unwrap({ body: "", header: undefined, secrets: [] });
  console.log(type, new kit.RetryAfter(1).name, kit.createHandlerBench, kit.handlersWith, kit.callService);
  console.log(kit.signForTest({ body: "", secret: "s" }).length);
}
void main();
`;

/** As ts-jest compiles it in a CommonJS project, which finds types by the old rules (`moduleResolution: node`). */
const classic = (commonJs: string): string =>
  commonJs.replace(/import kit = require\(("[^"]+")\)/, "import * as kit from $1");
const COMPILE = "--noEmit --ignoreConfig --strict --skipLibCheck false --target es2024 --lib es2024 --types";

test(
  "the package is small, has what it names, compiles under skipLibCheck: false, and loads by import and require",
  async () => {
    const project = await projectWithKit();
    const { kit } = project;
    const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(kit, "package.json"), "utf8")));

    const named = Object.values(manifest.exports).flatMap((target) =>
      typeof target === "string"
        ? [target]
        : Object.values(target).flatMap(({ types, default: code }) => [types, code]),
    );
    const missing = [...named, ...Object.values(manifest.bin)].filter((file) => !existsSync(join(kit, file)));
    expect(missing).toEqual([]);
    // `npx voice-agent-webhook-kit dev` runs the bin with the name of the package.
    expect(manifest.bin["voice-agent-webhook-kit"]).toBe(manifest.bin["voice-agent-simulator"]);
    for (const program of Object.values(manifest.bin)) {
      expect(readFileSync(join(kit, program), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    }
    const sources = globSync("**/*.{ts,cts}", { cwd: kit, exclude: ["**/*.d.{ts,cts}"] });
    expect(sources).toEqual([]);

    // Type declarations for editors.
    expect(existsSync(join(kit, "dist/simulator/schemas/scenario.schema.json"))).toBe(true);

    const bytes = globSync("**/*", { cwd: kit }).reduce(
      (sum, file) => sum + statSync(join(kit, file)).size,
      0,
    );
    expect(bytes).toBeLessThan(MOST_BYTES);

    // Only the dependencies that the types need.
    project.lend("zod", "pino", "@types/node", "undici-types", "typescript");
    project.write("use.mts", ESM);
    project.write("use.ts", ESM);
    project.write("use.cts", COMMONJS);
    project.write("receiver.mts", RECEIVER_ESM);
    project.write("receiver.ts", RECEIVER_ESM);
    project.write("receiver.cts", RECEIVER_COMMONJS);
    const tsc = async (line: string) =>
      project.run("node", "node_modules/typescript/bin/tsc", ...COMPILE.split(" "), "", ...line.split(" "));
    expect(await tsc("--module nodenext use.mts use.cts receiver.mts receiver.cts")).toEqual({
      status: 0,
      output: "",
    });
    expect(await tsc("--module preserve --moduleResolution bundler use.ts receiver.ts")).toEqual({
      status: 0,
      output: "",
    });

    project.write("classic.ts", classic(COMMONJS));
    project.write("classic-receiver.ts", classic(RECEIVER_COMMONJS));
    const compile = [
      join(import.meta.dirname, "classic/node_modules/typescript/bin/tsc"),
      ..."--noEmit --strict --esModuleInterop --skipLibCheck false --target es2022 --types node".split(" "),
      ..."--module commonjs --moduleResolution node classic.ts classic-receiver.ts".split(" "),
    ];
    expect(await project.run("node", ...compile)).toEqual({ status: 0, output: "" });

    project.lend(...Object.keys(manifest.dependencies).filter((name) => name !== "zod" && name !== "pino"));
    project.write(
      "require.cjs",
      `require("voice-agent-webhook-kit/simulator").startSimulator({ calls: 0 }).then((s) => s.close()).then(() => console.log("closed"))`,
    );
    expect(await project.run("node", "require.cjs")).toEqual({ status: 0, output: "closed\n" });
    project.write(
      "import.mjs",
      `import { startSimulator } from "voice-agent-webhook-kit/simulator"; await (await startSimulator({ calls: 0 })).close(); console.log("closed");`,
    );
    expect(await project.run("node", "import.mjs")).toEqual({ status: 0, output: "closed\n" });
    // As in a test file of jest, whose own `node:module` loads no ES module.
    project.write(
      "jest.cjs",
      `const Module = require("node:module");
      class Theirs extends Module {}
      Theirs.createRequire = process.getBuiltinModule = () => { throw new Error("not Node's own") };
      const real = Module._load;
      Module._load = (name, ...rest) => (name === "node:module" ? Theirs : real(name, ...rest));
      const { signForTest } = require("voice-agent-webhook-kit/receiver");
      const { startSimulator } = require("voice-agent-webhook-kit/simulator");
      console.log(typeof signForTest, typeof startSimulator);`,
    );
    expect(await project.run("node", "jest.cjs")).toEqual({ status: 0, output: "function function\n" });
    const stores = `
    const { createServer } = require("node:http");
    const { createHmac } = require("node:crypto");
    void (async () => {
      const { createReceiver, unwrap } = await load();
      const receiver = await createReceiver({ signingSecrets: ["s"], databaseUrl: "sqlite:events.db", environment: { LOG_LEVEL: "silent" } });
      const body = JSON.stringify({ id: "evt_" + "0".repeat(32), type: "call.completed" });
      const t = Math.floor(Date.now() / 1000);
      const header = "t=" + t + ",v1=" + createHmac("sha256", "s").update(t + "." + body).digest("hex");
      const request = new Request("http://x/", { method: "POST", body, headers: { "X-Service-Signature": header } });
      const answer = await (await receiver.fetch(request)).json();
      await receiver.stop();
      console.log(answer.received, unwrap({ body, header, secrets: "s" }).type);
    })();`;
    for (const load of ["import", "require"]) {
      project.write(
        `${load}s.cjs`,
        `const load = async () => ${load}("voice-agent-webhook-kit/receiver");${stores}`,
      );
      expect(await project.run("node", `${load}s.cjs`)).toEqual({
        status: 0,
        output: "true call.completed\n",
      });
    }
  },
  TIMEOUT_MS,
);
