import { expect, test } from "vitest";
import { runLoad } from "../../../simulator/load/run.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";

const BRIEFLY = { secret: "whsec_test", durationMs: 150, connections: 1 };

test("a redirect acknowledges nothing", async () => {
  const { url } = await startEndpoint(302);
  const { signal } = new AbortController();
  const { sent, acknowledged, failures } = await runLoad({ ...BRIEFLY, url, duplicates: 0 }, { signal });
  expect(sent).toBeGreaterThan(0);
  expect({ acknowledged, failures }).toEqual({ acknowledged: 0, failures: { 302: sent } });
});

test("as many are duplicates as were asked for, spread evenly", async () => {
  const { url } = await startEndpoint(200);
  const { signal } = new AbortController();
  const { sent, duplicates } = await runLoad({ ...BRIEFLY, url, duplicates: 0.5 }, { signal });
  expect(duplicates).toBe(Math.floor(sent / 2));
});

test("with a rate, waiting for a receiver that stalls counts from the moment at which a request was due", async () => {
  const { url } = await startEndpoint((response) => void setTimeout(() => response.writeHead(200).end(), 60));
  const { signal } = new AbortController();
  const { sent, latencies } = await runLoad({ ...BRIEFLY, url, duplicates: 0, rate: 100 }, { signal });
  expect(sent).toBe(15);
  // The last was due 140 ms after the first, and its turn came after fourteen answers.
  expect(latencies.quantileMs(1)).toBeGreaterThan(14 * 60 - 140);
});
