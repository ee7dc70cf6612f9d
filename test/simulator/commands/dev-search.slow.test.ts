import { createServer } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLocator, portForReceiver } from "../../../simulator/commands/dev-search.ts";
import { listen } from "../../helpers/listen.ts";
import { freePort } from "../../helpers/free-port.ts";
import { run as spawnRun } from "../../helpers/process.ts";
import { run } from "./in-process.ts";

const RECEIVER = "test/simulator/commands/dev-receiver.ts";
const DEV = ["dev", "--port", "0", "--calls", "0", "--once"];

function stubPort(port: number): void {
  vi.stubEnv("PORT", String(port));
  onTestFinished(() => void vi.unstubAllEnvs());
}

test("without a URL, the command gets the PORT of the user's environment, and its path is found", async () => {
  const port = await freePort();
  stubPort(port);
  const { code, out, err } = await run(...DEV, "--", process.execPath, RECEIVER, "verifies");
  expect(code).toBe(0);
  expect(err).toContain(`Found it at http://localhost:${port}/webhooks.`);
  expect(out).toContain("All 5 event types acknowledged");
});

test("if another program uses the PORT of the user's environment, the command gets another", async () => {
  const { port } = await listen(createServer());
  const given = await portForReceiver(String(port));
  expect(given).toBeGreaterThan(0);
  expect(given).not.toBe(port);
});

/** A server with `secret` that refuses unsigned requests, at a port that it chooses itself. */
async function receiverWith(secret: string): Promise<number> {
  const receiver = spawnRun(RECEIVER, ["verifies"], { SIGNING_SECRET: secret, PORT: "0" });
  const line = await receiver.line((text) => text.includes("port"));
  return Number(/"port":(\d+)/.exec(line)?.[1]);
}

test("a command that listens at a usual port instead of PORT is found by its secret", async () => {
  const [given, usual] = [await freePort(), await freePort()];
  const locator = await createLocator(given, "whsec_mine", [usual]);
  expect(await locator.locate()).toBe(false);
  const env = { SIGNING_SECRET: "whsec_mine", PORT: String(usual) };
  await spawnRun(RECEIVER, ["verifies"], env).line((text) => text.includes("port"));
  expect(await locator.locate()).toBe(true);
  expect(locator.found()).toMatchObject({ hasSecret: true, listener: { port: usual } });
});

test("a usual port that was open before the command started is not taken for its receiver", async () => {
  const usual = await receiverWith("whsec_mine");
  const locator = await createLocator(await freePort(), "whsec_mine", [usual]);
  expect(await locator.locate()).toBe(false);
});
