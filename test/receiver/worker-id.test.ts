import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { createWorkerId, isWorkerGone } from "../../receiver/work/worker-id.ts";
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
