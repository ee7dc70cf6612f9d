import { expect, test } from "vitest";
import { sampleEnvelope } from "../../shared/samples.ts";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import type { CheckContext } from "../../simulator/verify/context.ts";
import type { DeliverOptions } from "../../simulator/verify/delivery.ts";
import { DEFAULT_TIMING } from "../../simulator/verify/timing.ts";
import { exchange } from "./exchange.ts";

/** The verdict of a check whose deliveries are answered so, the honest ones after these times in turn. */
async function judged(id: string, { tookMs = [1], honest = 200, forged = 401 }) {
  let sent = 0;
  const deliver = async (_: unknown, options: DeliverOptions = {}) =>
    options.forged === true
      ? exchange(forged)
      : exchange(honest, { durationMs: tookMs[sent++ % tookMs.length] ?? 1 });
  const timing = { ...DEFAULT_TIMING, burst: 3, retryMs: 0 };
  const event = () => sampleEnvelope("call.completed");
  const context = { deliver, event, timing, answerTimeoutMs: () => timing.responseTimeoutMs };
  const verdict = await CATALOGUE.find((check) => check.id === id)?.run(context as unknown as CheckContext);
  return verdict?.outcome === "failed"
    ? `${verdict.cause} ${verdict.exchanges[0]?.durationMs}`
    : verdict?.outcome;
}

test.each([
  ["load.prompt", { tookMs: [1, 5_000, 2] }, "passed"],
  ["load.prompt", { tookMs: [1, 5_001, 2] }, "slow 5001"],
  ["acknowledgement.prompt", { tookMs: [1, 2_000, 2] }, "passed"],
  ["acknowledgement.prompt", { tookMs: [1, 2_001, 2] }, "slow 2001"],
  ["load.among-forgeries", {}, "passed"],
  ["load.among-forgeries", { forged: 200 }, "forgery_accepted 1"],
  ["load.among-forgeries", { honest: 503 }, "unavailable 1"],
  ["acknowledgement.after-forgery", { forged: 200 }, "forgery_accepted 1"],
  ["wire.forged-rubbish", { forged: 200 }, "forgery_accepted 1"],
  ["wire.large-forgery", { forged: 200 }, "forgery_accepted 1"],
])("%s with answers such as %o: %s", async (id, answers, expected) => {
  expect(await judged(id, answers)).toBe(expected);
});
