import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { isAlive } from "../../helpers/is-alive.ts";

test("under npm, serve stops cleanly when its parent is gone, of which npm sends no signal", async () => {
  const parent = `
    const { spawn } = require("node:child_process");
    const words = ["simulator/main.ts", "serve", "--port", "0", "--calls", "0"];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.once("data", () => console.log(child.pid));`;
  const npm = spawn(process.execPath, ["-e", parent], {
    env: { ...process.env, npm_lifecycle_event: "simulator" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(npm.stdout, "data");
  const pid = Number(String(line));
  onTestFinished(() => void (isAlive(pid) && process.kill(pid)));
  npm.kill("SIGKILL");
  await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
});
