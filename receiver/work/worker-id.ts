import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Of a process on Linux: this start of the machine, the processes that it can see, its number and when it began. */
const TRACEABLE = /^linux:([^:]+):([0-9]+):([0-9]+):/;

/** A name for the worker in this process, unique among all there ever were. */
export function createWorkerId(): string {
  const unique = randomBytes(4).toString("hex");
  const started = startOf(process.pid);
  const world = worldOfProcesses();
  if (started !== undefined && world !== undefined)
    return `linux:${world}:${String(process.pid)}:${started}:${unique}`;
  return `${hostname()}:${String(process.pid)}:${unique}`;
}

/**
 * Whether the process of the worker `workerId` is certainly gone, so that nobody need wait for its lease. Only where it
 * would be seen if it were there: on this start of this machine, among the processes that this one sees.
 */
export function isWorkerGone(workerId: string): boolean {
  const [, world, pid, started] = TRACEABLE.exec(workerId) ?? [];
  if (world === undefined || world !== worldOfProcesses()) return false;
  return startOf(Number(pid)) !== started;
}

function worldOfProcesses(): string | undefined {
  const boot = tryRead(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const namespace = tryRead(() => readlinkSync("/proc/self/ns/pid").replaceAll(/[^0-9]/g, ""));
  return boot === undefined || namespace === undefined ? undefined : `${boot}/${namespace}`;
}

/** When a process began, in ticks since the machine's start; undefined when there is none of that number. */
function startOf(pid: number): string | undefined {
  // Behind the program's name, which may hold anything: the 20th field from there.
  const fields = tryRead(() =>
    readFileSync(`/proc/${String(pid)}/stat`, "utf8")
      .split(") ")
      .at(-1),
  );
  const [state, ...rest] = fields?.split(" ") ?? [];
  // One that has ended and that nobody has asked about handles nothing any more.
  return state === undefined || state === "Z" || state === "X" ? undefined : rest[18];
}

function tryRead<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
