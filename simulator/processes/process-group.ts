import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export async function killGroup(pid: number): Promise<void> {
  signalGroup(pid, "SIGKILL");
  await groupGone(pid, 2_000);
  releaseGroup(pid);
}

/** Waits until no process of the group runs, or `withinMs` have passed; returns whether none runs. */
export async function groupGone(pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (groupLives(pid)) {
    if (performance.now() >= deadline) return false;
    await sleep(10);
  }
  return true;
}

function groupLives(pid: number): boolean {
  if (!signalGroup(pid, 0)) return false;
  if (process.platform !== "linux") return true;
  // A container without an init process keeps ended grandchildren as zombies, which still take signals.
  return processesIn(pid).length > 0;
}

/** The ids of the processes in a group; only on Linux. */
export function processesIn(group: number): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry) && runsInGroup(entry, group));
}

function runsInGroup(entry: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
    // pid (name) state parent group …, where the name may hold spaces and brackets.
    const [state, , processGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (processGroup !== String(group)) return false;
    // A process whose first thread has ended keeps its sockets open until the last one has.
    return state !== "Z" || readdirSync(`/proc/${entry}/task`).length > 1;
  } catch {
    return false;
  }
}

/** The resident memory of a group in bytes; undefined if it cannot be read, as outside Linux. */
export async function memoryOf(group: number): Promise<number | undefined> {
  const sizes = await Promise.all(
    processesIn(group).map(async (id) => {
      const status = await readFile(`/proc/${id}/status`, "utf8").catch(() => "");
      return Number(/^VmRSS:\s+(\d{1,12}) kB/m.exec(status)?.[1] ?? 0) * 1024;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0) || undefined;
}

/** Sends a signal to every process of the group; false if there are none. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    if (process.platform === "win32") {
      // Windows has no process groups: the tree below the command is ended instead.
      if (signal !== 0) spawnSync("taskkill", ["/pid", String(pid), "/t", "/f"]);
      return process.kill(pid, 0);
    }
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** Groups that must not outlive this process, each with the shell that ends it if we cannot. */
const groups = new Map<number, ChildProcess | undefined>();

/** Kills the group when this process ends in any way: except on Windows, even by SIGKILL. */
export function registerGroup(pid: number): void {
  if (!cleanupInstalled) installCleanup();
  groups.set(pid, process.platform === "win32" ? undefined : guardOf(pid));
}

/** Ends the guard of an ended group, whose id may soon be that of another. */
export function releaseGroup(pid: number): void {
  groups.get(pid)?.stdin?.end("released\n");
  groups.delete(pid);
}

/** A shell that waits for a line from us. If its pipe ends without one, we were killed, and it kills the group. */
function guardOf(pid: number): ChildProcess {
  const script = 'read -r line || kill -s KILL -- "-$0"';
  const stdio: ["pipe", "ignore", "ignore"] = ["pipe", "ignore", "ignore"];
  const guard = spawn("/bin/sh", ["-c", script, String(pid)], { detached: true, stdio });
  // Without a shell there is no guard, and no alternative.
  guard.on("error", () => {});
  guard.stdin.on("error", () => {});
  guard.unref();
  if (guard.stdin instanceof Socket) guard.stdin.unref();
  return guard;
}

let cleanupInstalled = false;

function installCleanup(): void {
  cleanupInstalled = true;
  const killAll = (): void => {
    for (const pid of groups.keys()) signalGroup(pid, "SIGKILL");
    groups.clear();
  };
  process.on("exit", killAll);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    const onSignal = (): void => {
      // With another listener the program decides itself when it ends, and the exit hook above cleans up.
      if (process.listenerCount(signal) > 1) return;
      killAll();
      process.off(signal, onSignal);
      process.kill(process.pid, signal);
    };
    process.on(signal, onSignal);
  }
}
