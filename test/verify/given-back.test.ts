import { createServer } from "node:http";
import { expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { runChecks } from "../../simulator/verify/run.ts";
import { listen } from "../helpers/listen.ts";
import { QUICK } from "../mutants/judge.ts";
import { SECRET } from "../mutants/receiver.ts";

test("a run of verify leaves no connection open at the receiver, whichever checks it had", async () => {
  const server = createServer((_request, response) => void response.writeHead(200).end());
  server.keepAliveTimeout = 0;
  const { url } = await listen(server);
  const checks = CATALOGUE.filter(
    ({ phase, group }) =>
      (phase === undefined || phase === "alone") && ["acknowledgement", "signature", "load"].includes(group),
  );
  expect(checks.some(({ phase }) => phase === "alone")).toBe(true);
  const report = await runChecks({
    url: `${url}/webhooks`,
    secret: SECRET,
    seed: "1",
    checks,
    // A forgotten connection would stay open until the test is over.
    timing: { ...QUICK, responseTimeoutMs: 600_000, burst: 3 },
    now: Date.now,
  });
  expect(report.notRun).toBe(0);
  const openConnections = () =>
    new Promise<number>((resolve) => {
      server.getConnections((_error, count) => resolve(count));
    });
  await expect.poll(openConnections).toBe(0);
});
