import { createServer } from "node:http";
import { expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { listen } from "../helpers/listen.ts";
import { QUICK, QUICK_RUN } from "../mutants/judge.ts";

test("a run of verify leaves no connection open at the receiver, whichever checks it had", async () => {
  const server = createServer((_request, response) => void response.writeHead(200).end());
  server.keepAliveTimeout = 0;
  const { url } = await listen(server);
  const groups = ["acknowledgement", "signature", "load", "wire"];
  const checks = CATALOGUE.filter(({ group }) => groups.includes(group));
  // Nothing of ours closes one that was forgotten before the test is over.
  const timing = { ...QUICK, responseTimeoutMs: 600_000, burst: 3, stallMs: 10 };
  const report = await runChecks({ ...QUICK_RUN, url: `${url}/webhooks`, checks, timing });
  expect(report.notRun).toBe(0);
  const openConnections = () =>
    new Promise<number>((resolve) => {
      server.getConnections((_error, count) => resolve(count));
    });
  await expect.poll(openConnections).toBe(0);
});
