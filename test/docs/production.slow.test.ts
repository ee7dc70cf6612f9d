import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../helpers/free-port.ts";
import { get, idOf, newBody, post } from "../receiver/helpers/events.ts";
import { startProcess } from "../receiver/helpers/process.ts";
import { startTestReceiver } from "../receiver/helpers/receiver.ts";
import { temporaryDirectory } from "../receiver/helpers/temporary.ts";

import { filesOf, ROOT } from "../repository/files.ts";
import { startService } from "../simulator/commands/in-process.ts";
import { runReceiver } from "../usage/receiver-in-process.ts";
import { blockUnder } from "./pages.ts";

const PAGE = "docs/production.md";

describe("rotating the secret", () => {
  const HEADING = "Rotating the secret";
  const [OLD, NEW] = ["whsec_the_old_one", "whsec_the_new_one"];

  test("by the steps of the page fails no delivery", async () => {
    const { simulator, sim } = await startService({ clock: "manual" });
    const port = String(await freePort());
    const start = async (secrets: string) =>
      startTestReceiver({ environment: { PORT: port, SIGNING_SECRET: secrets } });
    const counted = async (adminUrl: string | undefined): Promise<string[]> =>
      (await (await get(`${adminUrl ?? ""}/metrics`)).text()).match(/secret_matches_total\{.*/g) ?? [];
    const expectDelivered = async (count: number) => {
      expect((await sim("trigger", "call.completed")).code).toBe(0);
      await simulator.deliveries.settled();
      const { out } = await sim("deliveries", "list");
      expect(out.match(/ delivered +1 +200/g), out).toHaveLength(count);
    };

    const [, rotate = "", advance = ""] = blockUnder(PAGE, HEADING, "sh")
      .trim()
      .split("\n")
      .map((line) => line.split(" -- ")[1]);
    const { id } = simulator.endpoints.add({ url: `http://localhost:${port}/webhooks`, secret: OLD });
    let receiver = await start(OLD);
    await expectDelivered(1);

    const rotated = await sim(...rotate.replace(/ep_\w+/, id).split(" "));
    expect(rotated.code).toBe(0);
    await expectDelivered(2);
    await receiver.stop();

    receiver = await start(`${NEW},${OLD}`);
    await expectDelivered(3);
    expect((await sim(...advance.split(" "))).code).toBe(0);
    await expectDelivered(4);
    expect(await counted(receiver.adminUrl)).toEqual(['secret_matches_total{position="1"} 2']);
    await receiver.stop();

    await start(NEW);
    await expectDelivered(5);
  });

  test("without an overlap fails with 401 until the restart, and nothing is lost", async () => {
    const { simulator, sim } = await startService({ clock: "manual" });
    const port = String(await freePort());
    const { id } = simulator.endpoints.add({ url: `http://localhost:${port}/webhooks`, secret: OLD });
    const receiver = await startTestReceiver({ environment: { PORT: port, SIGNING_SECRET: OLD } });
    await sim("endpoints", "rotate", id, "--secret", NEW, "--overlap", "0");
    await simulator.emit("call.completed");
    expect((await sim("deliveries", "list")).out).toMatch(/ attempting +1 +401 /);
    await receiver.stop();
    await startTestReceiver({ environment: { PORT: port, SIGNING_SECRET: `${NEW},${OLD}` } });
    await sim("clock", "advance", "1m");
    expect((await sim("deliveries", "list")).out).toMatch(/ delivered +2 +200/);
  });
});

test("a restored backup has every event acknowledged before it", async () => {
  const receiver = await startTestReceiver();
  const body = newBody();
  expect((await post(receiver.url, body)).status).toBe(200);
  const file = receiver.config.databaseFile;
  const environment = { DATABASE_URL: `sqlite:${file}`, SIGNING_SECRET: "whsec_any" };
  const backup = join(temporaryDirectory(), "2026-11-22.db");
  expect((await runReceiver(["backup", backup], environment)).code).toBe(0);
  // It overwrites no file.
  expect((await runReceiver(["backup", backup], environment)).code).not.toBe(0);
  const later = newBody();
  expect((await post(receiver.url, later)).status).toBe(200);
  await receiver.stop();

  const folder = temporaryDirectory();
  copyFileSync(backup, join(folder, "receiver.db"));
  const restored = { ...environment, DATABASE_URL: `sqlite:${join(folder, "receiver.db")}` };
  expect((await runReceiver(["inbox", "show", idOf(body)], restored)).code).toBe(0);
  expect((await runReceiver(["inbox", "show", idOf(later)], restored)).code).not.toBe(0);
});

describe("the systemd unit", () => {
  const FILE = "deploy/voice-agent-receiver.service";
  const HOME = "/opt/voice-agent-receiver";
  const unit = filesOf(/\.service$/).get(FILE) ?? "";
  const settings = new Map(
    [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );
  const environment = (folder: string): Record<string, string> =>
    Object.fromEntries(
      (settings.get("Environment") ?? "").split(" ").map((one) => {
        const at = one.indexOf("=");
        return [
          one.slice(0, at),
          one.slice(at + 1).replace(/\/var\/(?:lib|cache)\/voice-agent-receiver/, folder),
        ];
      }),
    );

  test("starts the receiver with the settings that it names, and stops it within its time", async () => {
    const [program = "", ...words] = (settings.get("ExecStart") ?? "").split(" ");
    expect(settings.get("WorkingDirectory")).toBe(HOME);
    expect(program.replace(HOME, ".")).toBe("./node_modules/.bin/node");
    expect(words).toEqual(["receiver/main.mjs"]);
    const folder = temporaryDirectory();
    const receiver = await startProcess({
      entry: join(ROOT, words[0] ?? ""),
      environment: environment(folder),
    });
    expect((await post(receiver.url, newBody())).status).toBe(200);
    expect(existsSync(join(folder, "receiver.db"))).toBe(true);
    receiver.child.kill("SIGTERM");
    expect(await receiver.exited).toMatchObject({ code: 0 });
    expect(Number(settings.get("TimeoutStopSec"))).toBeGreaterThan(15);
  });

  test("does not restart a receiver with wrong settings", async () => {
    const { code } = await runReceiver(["start"], { SIGNING_SECRET: "", PORT: "http" });
    expect(settings.get("RestartPreventExitStatus")).toBe(String(code));
  });

  const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
  test.skipIf(!hasSystemd)("is valid, and restricts the receiver (needs systemd-analyze)", () => {
    const folder = mkdtempSync(join(tmpdir(), "unit-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "voice-agent-receiver.service");
    writeFileSync(file, unit.replaceAll(HOME, ROOT.replace(/\/$/, "")));
    const verified = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect(`${verified.stdout}${verified.stderr}`).toBe("");
    const judged = spawnSync("systemd-analyze", ["security", "--offline=true", "--threshold=20", file]);
    expect(judged.status).toBe(0);
  });
});
