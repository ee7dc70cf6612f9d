import { expect, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { DEFAULT_TIMING, timingFor } from "../../simulator/verify/timing.ts";
import { verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { SECRET } from "../mutants/receiver.ts";
import { startCounts } from "./failing.ts";

const MINUTE_MS = 60_000;

test("a receiver that handles once a minute gets that minute wherever effects are waited for", () => {
  expect(timingFor({ readyTimeoutMs: 5_000, effectsWithinMs: MINUTE_MS })).toEqual({
    readyMs: 5_000,
    promptMs: MINUTE_MS,
    settleMs: MINUTE_MS,
    settleAfterCrashMs: MINUTE_MS,
    settleShrinkingMs: MINUTE_MS,
  });
});

test("one that says it handles within a second is still given what everybody gets, but for being prompt", () => {
  const { settleMs, settleAfterCrashMs, settleShrinkingMs } = DEFAULT_TIMING;
  expect(timingFor({ readyTimeoutMs: 5_000, effectsWithinMs: 1_000 })).toEqual({
    readyMs: 5_000,
    promptMs: 1_000,
    settleMs,
    settleAfterCrashMs,
    settleShrinkingMs,
  });
});

test("without a word nothing changes but what the long run takes more of", () => {
  expect(timingFor({ readyTimeoutMs: 5_000 })).toEqual({ readyMs: 5_000 });
  const thorough = timingFor({ readyTimeoutMs: 5_000, thorough: true });
  expect(thorough).toEqual({
    readyMs: 5_000,
    slowRunMs: Number.POSITIVE_INFINITY,
    kills: 30,
    manyOthers: 10_500,
    manyOthersMs: Number.POSITIVE_INFINITY,
    burst: 120,
  });
  expect(timingFor({ readyTimeoutMs: 5_000, thorough: true, effectsWithinMs: 1 })).toMatchObject(thorough);
});

test("--effects-within decides whether a handling was in time", async () => {
  const start = await startCounts();
  const receiver = await start({ handledAfterMs: ({ type }) => (type === "voicemail.created" ? 700 : 0) });
  const within = async (effectsWithinMs: number | undefined) => {
    const { results } = await verifyReceiver({
      ...receiver,
      secret: SECRET,
      seed: String(effectsWithinMs),
      checks: CATALOGUE.filter(({ id }) => id === "effects.prompt"),
      failOn: [],
      readyTimeoutMs: 30_000,
      now: Date.now,
      ...(effectsWithinMs !== undefined && { effectsWithinMs }),
    });
    const { outcome, explanation = "" } = results.at(-1) ?? {};
    return [outcome, explanation.replace(/evt_[0-9a-f]{32}/, "evt_…")];
  };
  expect(await Promise.all([within(200), within(20_000), within(undefined)])).toEqual([
    ["failed", "Event evt_… was not handled within 200 ms of its acknowledgement."],
    ["passed", ""],
    ["passed", ""],
  ]);
});
