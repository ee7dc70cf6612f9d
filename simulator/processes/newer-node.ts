import { spawn, spawnSync } from "node:child_process";
import { nodeIsTooOld } from "../../shared/node-minimum.ts";
import { NEWER_NODE, NODE_MACHINES } from "./node-packages.ts";

type Start = {
  version: string;
  platform: string;
  arch: string;
  environment: Readonly<Record<string, string | undefined>>;
};

/**
 * The npm package of a Node.js for whoever runs us by npx on one that is too old; undefined where ours will do, where no
 * npx runs us, and where npm has none for the machine.
 */
export function packageOfNode({ version, platform, arch, environment }: Start): string | undefined {
  if (nodeIsTooOld(version) === undefined || environment["npm_lifecycle_event"] !== "npx") return undefined;
  const machine = `${platform === "win32" ? "win" : platform}-${arch}`;
  return NODE_MACHINES.has(machine) ? `node-${machine}@${NEWER_NODE}` : undefined;
}

/**
 * Runs this program once more on a newer Node.js, which npm fetches into its cache of npx and no user's program gets to
 * see; does not come back then. Comes back where that is not needed or not possible: the guard then says what to do.
 */
async function runOnNewerNode(): Promise<void> {
  const { version, platform, arch, env, execPath } = process;
  const wanted = packageOfNode({ version: version.slice(1), platform, arch, environment: env });
  const npm = env["npm_execpath"];
  if (wanted === undefined || npm === undefined) return;
  process.stderr.write(
    `Node.js ${version} is too old for this: it runs on ${wanted}, fetched once by npm.\n`,
  );
  const words = ["exec", "--yes", `--package=${wanted}`, "--", "node", "-p", "process.execPath"];
  // npx is told what to run by its environment, too.
  const found = spawnSync(execPath, [npm, ...words], { encoding: "utf8", env: withoutOptionsOfNpx(env) });
  const node = found.stdout.trim();
  if (found.status !== 0 || node === "") return;
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  // At Ctrl-C the terminal signals both; the child ends in order, and then we do.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(
      signal,
      () => void (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)),
    );
  }
  await new Promise(() => {
    child.once("exit", (code) => process.exit(code ?? 1));
  });
}

function withoutOptionsOfNpx(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^npm_config_(?:package|call|yes)$/i.test(name)),
  );
}

await runOnNewerNode();
