import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/**
 * Of a process on Linux: this start of the machine, the processes that it can see, its number and when it began; and the
 * last two of its supervisor as well, if it has one.
 */
const TRACEABLE = /^linux:([^:]+):([0-9]+):([0-9]+):(?:under:([0-9]+):([0-9]+):)?/;

/** A name for the worker in this process, unique among all there ever were. `supervisorPid` releases its claims, should it die. */
export function createWorkerId(supervisorPid?: number): string {
  const unique = randomBytes(4).toString("hex");
  const started = startOf(process.pid);
  const world = worldOfProcesses();
  if (started === undefined || world === undefined) return `${hostname()}:${String(process.pid)}:${unique}`;
  const self = `linux:${world}:${String(process.pid)}:${started}`;
  const supervisorStarted = supervisorPid === undefined ? undefined : startOf(supervisorPid);
  if (supervisorStarted === undefined) return `${self}:${unique}`;
  return `${self}:under:${String(supervisorPid)}:${supervisorStarted}:${unique}`;
}

/**
 * Whether the process of the worker `workerId` is certainly gone, and everybody who would release its claims, so that
 * nobody need wait for its lease. Only where both would be seen if they were there: on this start of this machine, among
 * the processes that this one sees.
 */
export function isWorkerGone(workerId: string): boolean {
  const [, world, pid, started, supervisorPid, supervisorStarted] = TRACEABLE.exec(workerId) ?? [];
  if (world === undefined || world !== worldOfProcesses()) return false;
  if (startOf(Number(pid)) === started) return false;
  // Its supervisor lets them wait, since a handler may have been the reason; taken at once, they could fell the next one.
  return supervisorPid === undefined || startOf(Number(supervisorPid)) !== supervisorStarted;
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
