import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const LONGEST_MS = 300_000;

/** A machine with one Node.js, npm and nothing of ours: its folder, and how to run commands there. */
export type Machine = ReturnType<typeof machineWith>;

/** The settings of this machine for reaching a registry: proxies, certificates, npm's settings. */
function waysToTheRegistry(): Record<string, string> {
  const names =
    /^npm_config_(?:registry|cafile|userconfig)$|_proxy$|^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i;
  const ways: Record<string, string> = {};
  const settings = join(process.env["HOME"] ?? "", ".npmrc");
  if (existsSync(settings)) ways["npm_config_userconfig"] = settings;
  for (const [name, value = ""] of Object.entries(process.env)) if (names.test(name)) ways[name] = value;
  return ways;
}

/**
 * Installs the newest Node.js of a major version from npm's `node` packages, and puts it first on the path. `cache` keeps
 * the downloads for later runs.
 */
export function machineWith(nodeMajor: number, { cache }: { cache: string }) {
  const folder = mkdtempSync(join(tmpdir(), `node-${nodeMajor}-`));
  const node = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}@${nodeMajor}`;
  const install = ["install", "--prefix", join(folder, "node"), "--no-audit", "--no-fund", node];
  const installed = spawnSync("npm", install, { encoding: "utf8" });
  if (installed.status !== 0) throw new Error(`${node} could not be installed: ${installed.stderr}`);
  const bin = join(folder, "node/node_modules", node.replace(/@\d+$/, ""), "bin");
  const environment = {
    PATH: [
      bin,
      ...(process.env["PATH"] ?? "").split(delimiter).filter((one) => !one.includes("node_modules")),
    ].join(delimiter),
    HOME: folder,
    npm_config_cache: cache,
    ...waysToTheRegistry(),
    NO_COLOR: "1",
  };

  return {
    folder,
    /** Whether its Node.js is older than what the kit runs on. */
    isTooOld: nodeMajor < 22,
    /** Runs a command line to its end; returns its exit code and its whole output. */
    run(
      line: string,
      cwd = folder,
      more: Record<string, string> = {},
    ): { status: number | null; output: string } {
      const ran = spawnSync("bash", ["-c", line], {
        cwd,
        encoding: "utf8",
        env: { ...environment, ...more },
        timeout: LONGEST_MS,
      });
      return { status: ran.status, output: ran.stdout + ran.stderr };
    },
    /** Starts a command line that stays up, and waits for `sign` in its output; `stop` ends it as Ctrl-C does. */
    async start(line: string, sign: RegExp, cwd = folder, more: Record<string, string> = {}) {
      const child = spawn("bash", ["-c", line], { cwd, env: { ...environment, ...more }, detached: true });
      let output = "";
      const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
      const seen = new Promise<boolean>((resolve) => {
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding("utf8").on("data", (text: string) => {
            output += text;
            if (sign.test(output)) resolve(true);
          });
        }
        void exited.then(() => resolve(false));
        setTimeout(() => resolve(false), 60_000).unref();
      });
      return {
        isUp: await seen,
        output: () => output,
        async stop(): Promise<number | null> {
          if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGINT");
          return exited;
        },
      };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
