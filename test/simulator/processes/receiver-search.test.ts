import { expect, test } from "vitest";
import { freePort } from "../../helpers/free-port.ts";
import { run } from "../../helpers/process.ts";
import type { Finding } from "../../../simulator/processes/receiver-probe.ts";
import {
  likeliestReceiver,
  searchReceivers,
  type FoundReceiver,
} from "../../../simulator/processes/receiver-search.ts";

const found = (finding: Finding, status: number | null, port: number): FoundReceiver => ({
  finding,
  status,
  url: `http://127.0.0.1:${port}/webhooks`,
  sentence: "",
  listener: { port, host: "127.0.0.1" },
  hasSecret: false,
});

test.each([
  ["the surest, where it takes webhooks", [found("fails", 500, 1), found("everywhere", 401, 2)], 1],
  ["the only one that refuses at every path", [found("everywhere", 401, 1), found("no_path", 404, 2)], 1],
  ["it stands behind a page for everything", [found("everywhere", 200, 1), found("everywhere", 400, 2)], 2],
  [
    "none of two that refuse at every path",
    [found("everywhere", 401, 1), found("everywhere", 403, 2)],
    undefined,
  ],
  ["no page for everything", [found("everywhere", 200, 1), found("everywhere", 500, 2)], undefined],
  ["none that has none of the paths", [found("no_path", 404, 1), found("not_http", null, 2)], undefined],
  ["none where nothing listens", [], undefined],
])("webhooks are sent without asking to: %s", (_which, candidates, port) => {
  expect(likeliestReceiver(candidates)?.listener.port).toBe(port);
});

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
  expect(likeliestReceiver(search)).toMatchObject({ hasSecret: true, listener: { port: Number(ports[1]) } });
  const others = await searchReceivers(ports.map(Number), "whsec_nobody");
  expect(others.map(({ hasSecret }) => hasSecret)).toEqual([false, false, false]);
});

test("a port at which nothing listens is not asked", async () => {
  expect(await searchReceivers([await freePort()], "whsec_mine")).toEqual([]);
});
