import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, describe, expect, test, onTestFinished, vi } from "vitest";
import { isAlive } from "../../helpers/is-alive.ts";
import { freePort } from "../../helpers/free-port.ts";
import { listen } from "../../helpers/listen.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import {
  type ReceiverProcess,
  startReceiver,
  type StartOptions,
} from "../../../simulator/processes/receiver-process.ts";

const LISTENER = `
  require("node:http").createServer((request, response) => response.end(process.env.SIGNING_SECRET))
    .listen(process.env.PORT, "127.0.0.1", () => console.log("listening"));
`;
const PARENT_OF_LISTENER = `
  require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(LISTENER)}], { stdio: "inherit" });
  setInterval(() => {}, 1000);
`;

let receiver: ReceiverProcess | undefined;

afterEach(async () => {
  await receiver?.kill();
  receiver = undefined;
});

async function start(script: string, options: Partial<StartOptions> = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/webhooks`;
  const env = { PORT: String(port), SIGNING_SECRET: "whsec_x" };
  const result = await startReceiver({ command: [process.execPath, "-e", script], env, url, ...options });
  if (result.ok) receiver = result.receiver;
  return { result, url };
}

describe("startReceiver", () => {
  test("waits until the receiver listens, with the variables it was given, not the user's of the same name", async () => {
    vi.stubEnv("PORT", "1");
    vi.stubEnv("SIGNING_SECRET", "whsec_of_the_user");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { result, url } = await start(LISTENER);
    expect(result.ok).toBe(true);
    expect(await (await fetch(url)).text()).toBe("whsec_x");
    await expect.poll(() => receiver?.output()).toEqual(["listening"]);
    const megabytes = ((await receiver?.memoryBytes()) ?? 0) / 2 ** 20;
    const [least, most] = process.platform === "linux" ? [20, 500] : [0, 0];
    expect(megabytes).toBeGreaterThanOrEqual(least);
    expect(megabytes).toBeLessThanOrEqual(most);
  });

  test("passes on each line as it is written", async () => {
    const lines: string[] = [];
    const onLine: StartOptions["onLine"] = (line, stream) => lines.push(`${stream}: ${line}`);
    await start(`console.error("one"); ${LISTENER}`, { onLine });
    // Its port may be open before its output arrives.
    await expect.poll(() => lines.toSorted()).toEqual(["stderr: one", "stdout: listening"]);
  });

  test.each([
    ["no-such-receiver", 'The command "no-such-receiver" was not found.'],
    ["./no-such-receiver", 'The command "./no-such-receiver" was not found.'],
    ["{}", '" is a folder: '],
    ["{}/plain", '/plain" may not be executed. Make it executable'],
    ["{}/windows", 'The interpreter of "'],
  ])("says why %s cannot be started", async (program, message) => {
    const [url, folder] = [`http://127.0.0.1:${await freePort()}`, temporaryDirectory()];
    writeFileSync(join(folder, "plain"), "");
    writeFileSync(join(folder, "windows"), "#!/bin/sh\r\n", { mode: 0o755 });
    const result = await startReceiver({ command: [program.replace("{}", folder), "--now"], url });
    expect(result).toMatchObject({ reason: "not_found", message: expect.stringContaining(message) });
  });

  test("shows the exit code and last words of one that dies before it listens, and how to run it by hand", async () => {
    const { result } = await start(`console.error("It is odd"); process.exit(Number("7"));`);
    const message = expect.stringMatching(/exit code 7.* -e 'console\.error\("It is odd"\); .*\);'$/);
    expect(result).toMatchObject({ ok: false, reason: "died", message, output: ["It is odd"] });
  });

  test("gives up on one that never listens, and kills it", async () => {
    const { result } = await start(`console.log(process.pid); setInterval(() => {}, 1000);`, {
      readyTimeoutMs: 3_000,
      locate: async () => false,
    });

    expect(result).toMatchObject({ reason: "port_shut", message: expect.stringContaining("PORT") });
    const pid = result.ok ? 0 : Number(result.output[0]);
    expect(pid).toBeGreaterThan(0);
    expect(isAlive(pid)).toBe(false);
  });

  test("does not wait for a process that the command left behind", async () => {
    const { result } = await start(
      `require("node:child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 5_000)"], { stdio: "inherit", detached: true }).unref();
       console.log("gone"); process.exit(7);`,
    );

    expect(result).toMatchObject({ ok: false, reason: "died", output: ["gone"] });
  });

  test("does not mistake another process on the port for the receiver", async () => {
    const { port } = await listen(createServer());
    const { result } = await start(LISTENER, { url: `http://127.0.0.1:${port}` });
    expect(result).toMatchObject({ ok: false, reason: "port_taken" });
  });

  test("kills the grandchildren as well, so that the port is free for the restart", async () => {
    const { result, url } = await start(PARENT_OF_LISTENER);
    expect(result.ok).toBe(true);
    const before = receiver?.pid;
    const restarted = await receiver?.restart();
    expect(restarted?.ok).toBe(true);
    expect(receiver?.pid).not.toBe(before);
    expect((await fetch(url)).status).toBe(200);
  }, 20_000);

  test("stop lets the receiver finish what it wants to do on SIGTERM", async () => {
    const { result } = await start(`
      process.on("SIGTERM", () => { console.log("bye"); process.exit(0); });
      ${LISTENER}
    `);
    expect(result.ok).toBe(true);

    await receiver?.stop();

    expect(await receiver?.exited()).toEqual({ code: 0, signal: null });
    await expect.poll(() => receiver?.output()).toContain("bye");
  });

  test("stop kills one that ignores SIGTERM", async () => {
    const { result } = await start(`process.on("SIGTERM", () => {}); ${LISTENER}`);
    expect(result.ok).toBe(true);

    await receiver?.stop({ graceMs: 100 });

    expect(await receiver?.exited()).toEqual({ code: null, signal: "SIGKILL" });
  });

  test.each(["SIGINT", "SIGTERM", "SIGKILL", "exit", "throw"])(
    "ends the receiver when we end by %s",
    async (end) => {
      const port = await freePort();
      const program = `
      import { startReceiver } from ${JSON.stringify(new URL("../../../simulator/processes/receiver-process.ts", import.meta.url).href)};
      const result = await startReceiver({
        command: [process.execPath, "-e", ${JSON.stringify(PARENT_OF_LISTENER)}],
        env: { PORT: "${port}" }, url: "http://127.0.0.1:${port}",
      });
      console.log(result.ok ? result.receiver.pid : result.message);
      if ("${end}" === "exit") process.exit(3);
      if ("${end}" === "throw") setTimeout(() => { throw new Error("bug"); });
      setInterval(() => {}, 1000);
    `;
      const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const pid = Number(line.toString());
      expect(pid).toBeGreaterThan(0);
      if (end.startsWith("SIG")) parent.kill(end as NodeJS.Signals);
      await once(parent, "exit");

      await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
      await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow("fetch failed");
    },
  );
});
