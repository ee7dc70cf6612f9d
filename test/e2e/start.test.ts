import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { blockUnder } from "../docs/pages.ts";
import { control } from "../helpers/control.ts";
import { freePort } from "../helpers/free-port.ts";
import { run, serve } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";
import { ROOT } from "../repository/files.ts";
import { ALL } from "../helpers/run/sizes.ts";

type Seen = { state: string; handled: number; duplicates: number };

async function receiverSettings() {
  const [port, adminPort] = [await freePort(), await freePort()];
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    observe: `http://127.0.0.1:${adminPort}/inbox/{id}`,
    env: {
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
      LOG_LEVEL: "warn",
    },
  };
}

describe("both programs together", () => {
  test("npm start sends every type and one duplicate, sees each handled once, and prints what the README shows", async () => {
    const { env } = await receiverSettings();
    const said = shell("npm start -- --once --port 0", env);
    expect(comparable(said)).toBe(comparable(blockUnder("README.md", "voice-agent-webhook-kit", "text")));
    const ids = said.match(/evt_[0-9a-f]{32}/g) ?? [];
    expect(ids).toHaveLength(EVENT_TYPES.length + 1);
    expect(new Set(ids).size).toBe(EVENT_TYPES.length);
    expect(ids.at(-1)).toBe(ids[0]);
  });

  test.runIf(ALL)("dev says so, and ends with 3, when the receiver dies at its start", async () => {
    const { url } = await receiverSettings();
    const command = ["--", process.execPath, "-e", "console.error('no such luck'); process.exit(7)"];
    const dev = run("simulator/main.ts", ["dev", "--port", "0", "--once", "--url", url, ...command]);
    expect(await dev.exited).toMatchObject({ code: 3 });
    expect(dev.errors.join("\n")).toContain("no such luck");
  });

  test.runIf(ALL)("a receiver that is killed under load loses no event and handles none twice", async () => {
    const events = 150;
    const { url, observe, env } = await receiverSettings();
    const secret = "whsec_e2e_0123456789";
    const settings = { ...env, SIGNING_SECRET: secret };
    const service = await serve(["--clock", "manual", "--forward-to", url, "--secret", secret]);
    const first = run("receiver/main.mjs", ["start"], settings);
    await listening(url);
    await control(service.url, "POST", "/events", { type: "order.created", count: events });
    // Some events are acknowledged and some are not: kill it now.
    await until(async () => (await counts(service.url)).delivered >= events / 5);
    await first.kill();

    run("receiver/main.mjs", ["start"], settings);
    await listening(url);
    await control(service.url, "POST", "/clock/advance", { until: "idle" });
    expect(await counts(service.url)).toEqual({ attempting: 0, delivered: events, dead: 0 });

    const list = await control<{ data: { id: string }[] }>(service.url, "GET", "/events");
    expect(list.body.data).toHaveLength(events);
    for (const { id } of list.body.data) {
      const seen = async () => {
        const response = await fetch(observe.replace("{id}", id));
        return (await response.json()) as Seen;
      };
      await until(async () => (await seen()).handled > 0);
      expect(await seen()).toMatchObject({ state: "done", handled: 1 });
    }
  });
});

/** The output of a documented command line: both streams in order, without npm's own lines. */
function shell(line: string, env: Record<string, string>): string {
  const options = { cwd: ROOT, encoding: "utf8", env: { ...process.env, ...env } } as const;
  return spawnSync("sh", ["-c", `${line} 2>&1`], options).stdout.replace(/^\n(?:> .*\n)+/, "");
}

/** Lines that differ only in ids, ports and times are equal. */
function comparable(text: string): string {
  return text
    .replaceAll(/evt_[0-9a-f]{32}/g, "evt")
    .replaceAll(/localhost:\d+/g, "localhost")
    .replaceAll(/ +\d+ ms/g, " ms")
    .replaceAll(/\d+\.\d s, seed [0-9a-f]{8}/g, "s, seed")
    .trim();
}

async function counts(url: string): Promise<{ attempting: number; delivered: number; dead: number }> {
  const { body } = await control<{ deliveries: { attempting: number; delivered: number; dead: number } }>(
    url,
    "GET",
    "/clock",
  );
  return body.deliveries;
}

/** Resolves when something answers at the receiver's address. */
function listening(url: string): Promise<void> {
  const health = new URL("/readyz", url);
  return until(async () => {
    const response = await fetch(health).catch(() => undefined);
    return response?.status === 200;
  });
}

/** Asks until the answer is yes, or the test times out. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}
