import { expect, test } from "vitest";
import { freePort } from "../../helpers/free-port.ts";
import { run } from "../../helpers/process.ts";
import { searchReceivers } from "../../../simulator/processes/receiver-search.ts";

test("of three that refuse unsigned requests, the one that accepts the secret is taken", async () => {
  const receivers = ["whsec_other", "whsec_mine", "whsec_third"].map((secret) =>
    run("test/simulator/commands/dev-receiver.ts", ["verifies"], { SIGNING_SECRET: secret, PORT: "0" }),
  );
  const ports = await Promise.all(
    receivers.map(
      async (receiver) => /"port":(\d+)/.exec(await receiver.line((text) => text.includes("port")))?.[1],
    ),
  );
  const search = await searchReceivers(ports.map(Number), "whsec_mine");
  expect(search[0]).toMatchObject({ hasSecret: true, listener: { port: Number(ports[1]) } });
  const others = await searchReceivers(ports.map(Number), "whsec_nobody");
  expect(others.map(({ hasSecret }) => hasSecret)).toEqual([false, false, false]);
});

test("a port at which nothing listens is not asked", async () => {
  expect(await searchReceivers([await freePort()], "whsec_mine")).toEqual([]);
});
