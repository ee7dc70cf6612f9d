import { expect, onTestFinished, test, vi } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { writePaced } from "../../simulator/verify/delivery.ts";
import { DEFAULT_TIMING, timingFor } from "../../simulator/verify/timing.ts";
import { verifyReceiver } from "../../simulator/verify/verify-receiver.ts";
import { SECRET } from "../mutants/receiver.ts";
import { startCounts } from "./failing.ts";

test("a run may take longer if its receiver may, and with --thorough it has no time limit", () => {
  const usual = timingFor({ readyTimeoutMs: 30_000 });
  const slow = timingFor({ readyTimeoutMs: 90_000, effectsWithinMs: 60_000 });
  expect(slow).toMatchObject({ readyMs: 90_000, promptMs: 60_000, settleMs: 60_000 });
  expect((slow.runMs ?? 0) - (usual.runMs ?? 0)).toBe(180_000);
  const brief = timingFor({ readyTimeoutMs: 1_000, effectsWithinMs: 1_000 });
  expect(brief).toMatchObject({ promptMs: 1_000, settleMs: DEFAULT_TIMING.settleMs });
  expect(timingFor({ readyTimeoutMs: 1_000, thorough: true }).runMs).toBe(Number.POSITIVE_INFINITY);
});

test(
  "pieces of a body have no more pauses once a busy machine is late with them",
  { timeout: 5_000 },
  async () => {
    let nowMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    onTestFinished(() => clock.mockRestore());
    const write = vi.fn<(piece: Buffer) => Promise<void>>(async () => void (nowMs += 200_000));
    const pieces = ["a", "b", "c"].map((piece) => Buffer.from(piece));
    await writePaced({ write }, pieces, 60_000);
    expect(write.mock.calls.flat().join("")).toBe("abc");
  },
);

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
