import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../../shared/events.ts";
import { blockUnder } from "../docs/pages.ts";
import { control } from "../helpers/control.ts";
import { freePort } from "../helpers/free-port.ts";
import { run, serve } from "../helpers/process.ts";
import { temporaryDirectory } from "../helpers/simulator.ts";

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

describe("the whole, running", () => {
  test("npm start, which is dev, sends every type and one twice, sees each handled once, and says so as the README shows", async () => {
    const { url, observe, env } = await receiverSettings();
    const command = ["--quiet", "--command", `${process.execPath} receiver/main.ts`];
    const args = ["dev", "--port", "0", "--once", "--url", url, "--observe", observe, ...command];
    const dev = run("simulator/main.ts", args, env);
    expect(await dev.exited).toMatchObject({ code: 0 });
    const said = dev.out.join("\n");
    const comparable = (text: string): string =>
      text
        .replaceAll(/evt_[0-9a-f]{32}/g, "evt")
        .replaceAll(/ +\d+ ms/g, " ms")
        .replaceAll(/\n+/g, "\n")
        .trim();
    const [starting = "", ...shown] = blockUnder("README.md", "voice-agent-webhook-kit", "text").split("\n");
    expect(comparable(said)).toBe(comparable(shown.join("\n")));
    expect(dev.errors.join("\n")).toContain(starting.replace("node ", `${process.execPath} `));
    const ids = said.match(/evt_[0-9a-f]{32}/g) ?? [];
    expect(ids).toHaveLength(EVENT_TYPES.length + 1);
    expect(new Set(ids).size).toBe(EVENT_TYPES.length);
    expect(ids.at(-1)).toBe(ids[0]);
  });

  test("dev says so, and ends with 3, when the receiver dies at its start", async () => {
    const { url } = await receiverSettings();
    const command = ["--", process.execPath, "-e", "console.error('no such luck'); process.exit(7)"];
    const dev = run("simulator/main.ts", ["dev", "--port", "0", "--once", "--url", url, ...command]);
    expect(await dev.exited).toMatchObject({ code: 3 });
    expect(dev.errors.join("\n")).toContain("no such luck");
  });

  test("a receiver that is killed under load loses no event and handles none twice", async () => {
    const events = 150;
    const { url, observe, env } = await receiverSettings();
    const secret = "whsec_e2e_0123456789";
    const settings = { ...env, SIGNING_SECRET: secret };
    const service = await serve(["--clock", "manual", "--forward-to", url, "--secret", secret]);
    const first = run("receiver/main.ts", ["start"], settings);
    await listening(url);
    await control(service.url, "POST", "/events", { type: "order.created", count: events });
    // Some are acknowledged and some are not: the moment to die.
    await until(async () => (await counts(service.url)).delivered >= events / 5);
    await first.kill();

    run("receiver/main.ts", ["start"], settings);
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

/** Asks until the answer is yes; the test's own time-out is the bound. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}
