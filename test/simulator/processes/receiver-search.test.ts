import { expect, test } from "vitest";
import type { Finding } from "../../../simulator/processes/receiver-probe.ts";
import { likeliestReceiver, type FoundReceiver } from "../../../simulator/processes/receiver-search.ts";

const found = (finding: Finding, status: number | null, port: number): FoundReceiver => ({
  finding,
  status,
  url: `http://127.0.0.1:${port}/webhooks`,
  sentence: "",
  listener: { port, host: "127.0.0.1", pid: port, program: "app" },
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
