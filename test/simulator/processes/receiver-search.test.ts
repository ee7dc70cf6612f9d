import { expect, test } from "vitest";
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
  listener: { port, host: "127.0.0.1", pid: port, program: "app" },
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
  ["nobody who has none of the paths", [found("no_path", 404, 1), found("not_http", null, 2)], undefined],
  ["nobody where nobody listens", [], undefined],
])("webhooks are sent without asking to: %s", (_which, candidates, port) => {
  expect(likeliestReceiver(candidates)?.listener.port).toBe(port);
});

test("of two who refuse what is unsigned, the one that takes what is signed with the secret is taken", async () => {
  const receivers = ["whsec_other", "whsec_mine", "whsec_third"].map((secret) =>
    run("test/simulator/commands/dev-receiver.ts", ["verifies"], { SIGNING_SECRET: secret, PORT: "0" }),
  );
  const ports = await Promise.all(
    receivers.map(
      async (receiver) => /"port":(\d+)/.exec(await receiver.line((text) => text.includes("port")))?.[1],
    ),
  );
  const pids = receivers.map(({ child }) => child.pid);
  const isOurs = ({ pid }: { pid: number | null }) => pids.includes(pid ?? 0);
  const search = await searchReceivers(isOurs, "whsec_mine");
  const found = search.ok ? likeliestReceiver(search.found) : undefined;
  expect(found).toMatchObject({ hasSecret: true, listener: { port: Number(ports[1]) } });
  const nobodys = await searchReceivers(isOurs, "whsec_nobody");
  expect(nobodys.ok && nobodys.found.map(({ hasSecret }) => hasSecret)).toEqual([false, false, false]);
});
