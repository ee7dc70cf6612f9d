import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { workFileOf } from "../../receiver/engines/sqlite/work-file.ts";
import { createWorkerId, isWorkerGone } from "../../receiver/work/worker-id.ts";
import { startProcess } from "./helpers/process.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";

test("a worker that runs is never taken for gone", () => {
  const [one, other] = [createWorkerId(), createWorkerId()];
  expect(one).not.toBe(other);
  expect([one, other].map(isWorkerGone)).toEqual([false, false]);
});

test("a name from another machine, another start of it or another container says nothing", () => {
  expect(isWorkerGone("somewhere:4194304:0000abcd")).toBe(false);
  expect(isWorkerGone("linux:another-boot/4026531836:4194304:1:0000abcd")).toBe(false);
  expect(isWorkerGone("")).toBe(false);
});

const onLinux = process.platform === "linux";
if (!onLinux)
  process.stderr.write("Skipped: only Linux tells whether a process of that number is the same one.\n");

test.skipIf(!onLinux)(
  "a worker whose process has ended is gone, and so is one whose number another has now",
  async () => {
    const mine = createWorkerId();
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: "pipe" });
    const theirs = mine.replace(/:([0-9]+):([0-9]+):/, `:${String(child.pid)}:$2:`);
    // Its own start would have to stand there; with mine it is another process of that number.
    expect(isWorkerGone(theirs)).toBe(true);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    expect(isWorkerGone(theirs)).toBe(true);
    expect(isWorkerGone(mine)).toBe(false);
  },
);

test.skipIf(!onLinux)("a worker that has ended is not gone while its supervisor runs", () => {
  const mine = createWorkerId(process.pid);
  const start = /:([0-9]+):under:/.exec(mine)?.[1];
  expect(mine).toContain(`:under:${String(process.pid)}:${String(start)}:`);
  const ended = mine.replace(/:[0-9]+:[0-9]+:under:/, ":4194304:1:under:");
  expect([mine, ended].map(isWorkerGone)).toEqual([false, false]);
  // Others have their numbers now: of the worker, and of both.
  expect(isWorkerGone(mine.replace(/:[0-9]+:under:/, ":1:under:"))).toBe(false);
  expect(isWorkerGone(ended.replace(/:under:([0-9]+):[0-9]+:/, ":under:$1:1:"))).toBe(true);
  expect(isWorkerGone(ended.replace(/:under:[0-9]+:/, ":under:4194304:"))).toBe(true);
  // While the worker runs, its claims are its own.
  expect(isWorkerGone(mine.replace(/:under:[0-9]+:/, ":under:4194304:"))).toBe(false);
});

test.skipIf(!onLinux)("what a receiver's worker held is taken by others once both have ended", async () => {
  const file = join(temporaryDirectory(), "receiver.db");
  const receiver = await startProcess({ environment: { DATABASE_URL: `sqlite:${file}` } });
  const work = new Database(workFileOf(file), { readonly: true });
  onTestFinished(() => void work.close());
  const find = work.prepare<[], string>("SELECT id FROM workers").pluck();
  const id = await until(
    () => find.get(),
    (found) => found !== undefined,
  );
  const supervisorPid = receiver.child.pid!;
  const pid = Number(/:([0-9]+):[0-9]+:under:/.exec(id!)?.[1]);
  process.kill(supervisorPid, "SIGSTOP");
  process.kill(pid, "SIGKILL");
  await until(
    () => readFileSync(`/proc/${String(pid)}/stat`, "utf8"),
    (stat) => stat.includes(") Z "),
  );
  expect(isWorkerGone(id!)).toBe(false);
  process.kill(supervisorPid, "SIGKILL");
  await receiver.exited;
  expect(isWorkerGone(id!)).toBe(true);
});

test.skipIf(!onLinux)("a worker that has ended is gone before anybody has asked how it ended", async () => {
  // The shell's child ends once the shell has become something that never asks about it; the shell itself may.
  const script = "(until grep -q sleep /proc/$$/comm; do :; done) & echo $!; exec sleep 60";
  const parent = spawn("sh", ["-c", script], { stdio: "pipe" });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [said] = await once(parent.stdout, "data");
  const pid = String(said).trim();
  const stat = (): string[] => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  await until(stat, ([state]) => state === "Z");
  const theirs = createWorkerId().replace(/:([0-9]+):([0-9]+):/, `:${pid}:${stat()[19] ?? ""}:`);
  expect(isWorkerGone(theirs)).toBe(true);
});
