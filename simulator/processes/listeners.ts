import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import {
  parseCommandLine,
  parseLsof,
  parseNetstat,
  parseProcNet,
  type Listening,
} from "./listener-tables.ts";
import { isWildcard } from "../../shared/host.ts";
import { messageOf } from "../text/errors.ts";

/** A port of this machine that could be a receiver's: where to connect to, and its process where that is known. */
export type Listener = { host: string; port: number; pid: number | null; program: string | null };

export type Listeners = { ok: true; listeners: Listener[] } | { ok: false; message: string };

const PROGRAM_TIMEOUT_MS = 3_000;
const LARGEST_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Where servers that are being worked on usually listen, the likeliest first. */
const USUAL_PORTS = [3000, 8080, 8000, 5000, 4000, 3001, 8787, 8888, 9000, 4567, 5001, 8081, 80];

/** What listens there is known and no receiver: remote shells, mail, printers, databases, queues, debuggers. */
const OTHER_SERVICES = new Set([
  22, 25, 53, 88, 110, 111, 135, 139, 143, 389, 445, 465, 548, 587, 631, 993, 995, 1433, 1521, 1883, 2049,
  2375, 2376, 2379, 2380, 3306, 3389, 4369, 5037, 5432, 5433, 5672, 5900, 6379, 6443, 7000, 9042, 9092, 9200,
  9229, 9300, 11_211, 27_017,
]);

/**
 * The servers of this machine that can be reached over loopback, the usual ports first. No connection is made: the
 * operating system is asked. This process's own ports and well-known other services are left out.
 */
export async function listListeners(): Promise<Listeners> {
  try {
    const listening = await ask[process.platform]?.();
    if (listening !== undefined) return { ok: true, listeners: offered(listening) };
    return { ok: false, message: `Who listens on this machine cannot be seen on ${process.platform}.` };
  } catch (error) {
    return { ok: false, message: `Who listens on this machine cannot be seen here: ${messageOf(error)}` };
  }
}

const ask: Partial<Record<NodeJS.Platform, () => Promise<Listening[]>>> = {
  linux: askProc,
  android: askProc,
  darwin: async () => parseLsof(await output("lsof", ["-nP", "-iTCP", "-sTCP:LISTEN", "-Fpcn"])),
  freebsd: async () => parseLsof(await output("lsof", ["-nP", "-iTCP", "-sTCP:LISTEN", "-Fpcn"])),
  win32: async () => parseNetstat(await output("netstat", ["-ano"])),
};

/** One entry a port, sorted; only what answers at a loopback address. */
export function offered(listening: readonly Listening[], ownPid = process.pid): Listener[] {
  const byPort = new Map<number, Listener>();
  for (const { address, port, pid, program } of listening) {
    const host = loopbackHost(address);
    if (host === undefined || pid === ownPid || OTHER_SERVICES.has(port)) continue;
    if (byPort.get(port)?.host !== "localhost") byPort.set(port, { host, port, pid, program });
  }
  const rank = (port: number) =>
    (USUAL_PORTS.indexOf(port) + USUAL_PORTS.length + 1) % (USUAL_PORTS.length + 1);
  return [...byPort.values()].toSorted((a, b) => rank(a.port) - rank(b.port) || a.port - b.port);
}

/** The name by which a listener is reached; undefined for one that only other machines reach. */
function loopbackHost(address: string): string | undefined {
  if (isWildcard(address) || ["127.0.0.1", "::1"].includes(address)) return "localhost";
  return address.startsWith("127.") ? address : undefined;
}

async function askProc(): Promise<Listening[]> {
  const tables = await Promise.all([
    readFile("/proc/net/tcp", "utf8"),
    // A kernel without IPv6 has no such file.
    readFile("/proc/net/tcp6", "utf8").catch(() => ""),
  ]);
  const sockets = tables.flatMap(parseProcNet);
  const holders = await holdersOf(new Set(sockets.map(({ inode }) => `socket:[${inode}]`)));
  return sockets.map(({ address, port, inode }) => {
    const holder = holders.get(`socket:[${inode}]`);
    return { address, port, pid: holder?.pid ?? null, program: holder?.program ?? null };
  });
}

/** Which process holds each socket; those of other users cannot be seen. */
async function holdersOf(sockets: ReadonlySet<string>) {
  const holders = new Map<string, { pid: number; program: string | null }>();
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    const links = await Promise.all(
      descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")),
    );
    const held = links.filter((link) => sockets.has(link));
    if (held.length === 0) continue;
    const program = parseCommandLine(await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
    for (const socket of held) holders.set(socket, { pid: Number(pid), program });
  }
  return holders;
}

function output(file: string, words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: PROGRAM_TIMEOUT_MS, maxBuffer: LARGEST_OUTPUT_BYTES, windowsHide: true };
    execFile(file, words, options, (error, stdout) => {
      // lsof also ends with 1 where it could not look into everything.
      if (error !== null && stdout === "") reject(error);
      else resolve(stdout);
    });
  });
}
