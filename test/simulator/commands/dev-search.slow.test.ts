import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { portForReceiver } from "../../../simulator/commands/dev-search.ts";
import { listen } from "../../helpers/listen.ts";
import { freePort } from "../../helpers/free-port.ts";
import { run as spawnRun } from "../../helpers/process.ts";
import { run } from "./in-process.ts";

// Only what our own children listen on is asked: others work on this machine too.
const RECEIVER = "test/simulator/commands/dev-receiver.ts";

test("without a URL, the port that the command chose and its path are found", async () => {
  const dev = ["dev", "--port", "0", "--calls", "0", "--once", "--", process.execPath, RECEIVER, "own-port"];
  const { code, out, err } = await run(...dev);
  expect(code).toBe(0);
  const port = /receiver \| at .*"port":(\d+)/.exec(err)?.[1];
  expect(err).toContain(`Found it at http://localhost:${port}/api/webhooks. Good: /api/webhooks is there`);
  expect(out).toContain("All 5 event types acknowledged");
});

test("without a URL, the command gets the PORT of the user's environment", async () => {
  const port = String(await freePort());
  const dev = ["dev", "--port", "0", "--calls", "0", "--once", "--", process.execPath, RECEIVER, "verifies"];
  vi.stubEnv("PORT", port);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { code, err } = await run(...dev);
  expect(code).toBe(0);
  expect(err).toContain(`Found it at http://localhost:${port}/webhooks.`);
});

test("where somebody else has the PORT of the user's environment, the command gets another", async () => {
  const { port } = await listen(createServer());
  const given = await portForReceiver(String(port));
  expect(given).toBeGreaterThan(0);
  expect(given).not.toBe(port);
});

test("without a command, the receiver that runs is found, and its secret is used or made up", async () => {
  const receiver = spawnRun(RECEIVER, ["own-port"]);
  const line = await receiver.line((text) => text.includes("port"));
  const port = /"port":(\d+)/.exec(line)?.[1];
  const dev = ["dev", "--port", "0", "--calls", "0", "--once", "--pid", String(receiver.child.pid)];
  const made = await run(...dev);
  expect(made.err).toContain(`at http://localhost:${port}/api/webhooks.`);
  expect(made.err).toMatch(/Its secret: SIGNING_SECRET=whsec_[0-9a-f]{48}/);
  expect(made.code).toBe(0);
  const given = await run(...dev, "--secret", "whsec_given");
  expect(given.err).not.toContain("SIGNING_SECRET=");
  expect(given.code).toBe(0);
});

test("of two that listen, the one that has the secret is taken, and the other one is named", async () => {
  const receiver = spawnRun(RECEIVER, ["two"], { SIGNING_SECRET: "whsec_mine" });
  const portOf = async (secret: string) =>
    /"port":(\d+)/.exec(await receiver.line((text) => text.startsWith(`${secret} at`)))?.[1];
  const [mine, other] = [await portOf("whsec_mine"), await portOf("whsec_other")];
  const dev = ["dev", "--port", "0", "--calls", "0", "--once", "--pid", String(receiver.child.pid)];
  const { code, err } = await run(...dev, "--secret", "whsec_mine");
  expect(err).toContain(`at http://localhost:${mine}/webhooks. It refuses what is not signed`);
  expect(code).toBe(0);
  const nobodys = await run(...dev, "--secret", "whsec_nobodys");
  expect(nobodys.err).toContain("Nobody who listens takes what is signed with this secret");
  for (const port of [mine, other]) expect(nobodys.err).toContain(`http://localhost:${port}`.slice(7));
  expect(nobodys.err).toContain("That listens, too");
});

test("where no receiver runs, it says how to start one, and with --once gives up", async () => {
  const nobody = spawnRun(RECEIVER, ["deaf"]);
  await nobody.line((text) => text.includes("deaf"));
  const { child } = nobody;
  const dev = ["dev", "--port", "0", "--calls", "0", "--once", "--ready-timeout", "1"];
  const { code, err } = await run(...dev, "--pid", String(child.pid));
  expect(code).toBe(3);
  expect(err).toMatch(
    /No receiver listens yet: start yours with SIGNING_SECRET=whsec_\w+, or have it started: {2}\S+.* dev -- node/,
  );
});
