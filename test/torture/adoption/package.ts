import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../helpers/free-port.ts";
import type { Machine } from "./machine.ts";

const PUBLISHED = ["package.json", "README.md", "CHANGELOG.md", "LICENSE"];
const SECRET = "whsec_of_somebody";
const TOO_OLD = /Node\.js 20\.\S+ is too old: this needs 22\.19 or newer\. Install Node\.js 24/;
/** A user's apps, without any code of ours. */
const APPS = [
  { starts: "python3 http_server.py", file: "examples/receivers/http_server.py" },
  { starts: "node node-http.ts", file: "examples/receivers/node-http.ts" },
];
/** A long time-out: a busy machine is not a failure. */
const PATIENTLY = "-- --testTimeout=60000";
const RUNNERS = [
  { script: `vitest ${PATIENTLY}`, sign: /Tests +2 passed/ },
  { script: `jest:commonjs ${PATIENTLY}`, sign: /Tests: +2 passed/ },
  { script: `jest:esm ${PATIENTLY}`, sign: /Tests: +2 passed/ },
  { script: "node", sign: /pass 2\n/ },
];

/** Builds and packs the kit as it is published, in a separate folder. */
export function packKit(kit: string): { file: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "packed-"));
  const stage = join(folder, "kit");
  mkdirSync(stage);
  for (const name of PUBLISHED) cpSync(join(kit, name), join(stage, name));
  for (const [cwd, line] of [
    [kit, `node tools/build.ts ${join(stage, "dist")}`],
    [stage, "npm pack --pack-destination .."],
  ] as const) {
    const { status, stderr } = spawnSync("bash", ["-c", line], { cwd, encoding: "utf8" });
    if (status !== 0) throw new Error(`${line}: ${stderr}`);
  }
  const [name = ""] = readdirSync(folder).filter((one) => one.endsWith(".tgz"));
  return { file: join(folder, name), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** `npx … dev` in an empty folder, beside an app that listens already: the app is found and sent everything once. */
export async function developsAnywhere(machine: Machine, packed: string): Promise<string[]> {
  const empty = join(machine.folder, "empty");
  mkdirSync(empty);
  const dev = `npx --yes file:${packed} dev --once --port 0`;
  if (machine.isTooOld) {
    const { status, output } = machine.run(dev, empty);
    const isOneLine =
      output
        .replaceAll(/^npm warn .*\n/gm, "")
        .trim()
        .split("\n").length === 1;
    return status === 78 && isOneLine && TOO_OLD.test(output) ? [] : [`${dev}: ${String(status)}\n${output}`];
  }
  const problems: string[] = [];
  for (const { starts, file } of APPS) {
    const [name = ""] = file.split("/").slice(-1);
    const folder = join(machine.folder, name);
    mkdirSync(folder);
    cpSync(join(import.meta.dirname, "../../..", file), join(folder, name));
    const port = String(await freePort());
    const app = await machine.start(`echo "pid $$"; exec ${starts}`, /pid \d+\n/, folder, {
      PORT: port,
      SIGNING_SECRET: SECRET,
    });
    const { status, output } = machine.run(`PORT=${port} ${dev} --secret ${SECRET}`, empty);
    const isFound = output.includes(`localhost:${port}/webhooks.`);
    if (status !== 0 || !isFound || !output.includes("All 5 event types acknowledged"))
      problems.push(`beside ${starts}: ${String(status)}\n${output.slice(-800)}`);
    await app.stop();
  }
  const left = readdirSync(empty);
  if (left.length > 0) problems.push(`dev left files behind: ${left.join(", ")}`);
  return problems;
}

/** The examples of the test runners, copied out and installed with the packed kit, as their README says. */
export function testRunnersWork(machine: Machine, packed: string, kit: string): string[] {
  const folder = join(machine.folder, "test-runners");
  cpSync(join(kit, "examples/test-runners"), folder, { recursive: true });
  const manifest = join(folder, "package.json");
  const text = readFileSync(manifest, "utf8");
  writeFileSync(
    manifest,
    text.replace('"voice-agent-webhook-kit": "0.1.0"', `"voice-agent-webhook-kit": "file:${packed}"`),
  );
  const installed = machine.run("npm install --no-audit --no-fund --ignore-scripts", folder);
  if (installed.status !== 0) return [`npm install: ${installed.output}`];
  if (machine.isTooOld) {
    // It throws, and the runner goes on and reports it.
    const { status, output } = machine.run("npm run jest:commonjs", folder);
    return status === 1 && TOO_OLD.test(output) && output.includes("Test suite failed to run")
      ? []
      : [output.slice(-1_500)];
  }
  return RUNNERS.map(({ script, sign }) => ({ script, sign, ...machine.run(`npm run ${script}`, folder) }))
    .filter(({ sign, status, output }) => status !== 0 || !sign.test(output))
    .map(({ script, output }) => `npm run ${script}: ${output.slice(-800)}`);
}
