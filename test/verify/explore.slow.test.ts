import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Check } from "../../simulator/verify/check.ts";
import { exploreCheck } from "../../simulator/verify/explore/explore.ts";
import { failed } from "../../simulator/verify/judgement.ts";
import { createPlayer } from "../../simulator/verify/explore/player.ts";
import { judge } from "../mutants/judge.ts";
import { refusesCopies } from "../mutants/planted/helpers.ts";
import type { Behaviour } from "../mutants/receiver.ts";

const SCHEDULES = 10;

describe.concurrent("the explorer", () => {
  test.each<[string, Partial<Behaviour>, RegExp]>([
    ["a second handling", { remember: () => true }, /handled \d times instead of once/],
    ["a refused duplicate", { duplicateStatus: 409 }, /not acknowledged|was given up/],
    [
      "an event that is never handled",
      { handlings: ({ type }) => (type === "order.created" ? 0 : 1) },
      /handled 0 times instead of once/,
    ],
  ])("finds %s, with evidence, seed and the smallest schedule", async (_, plant, problem) => {
    const result = await explored(plant);
    expect(result).toMatchObject({ outcome: "failed", explanation: expect.stringMatching(problem) });
    expect(result?.explanation).toMatch(
      /Smallest failing schedule: .+\. .*Replay: --explore 10 --seed mutants$/,
    );
    expect(result?.exchanges.length).toBeGreaterThan(0);
  });

  test.each<[string, Partial<Behaviour>]>([
    ["a receiver that does everything once", {}],
    [
      "one that answers 503 to a copy that comes while another is under way",
      {
        beforeAnswer: refusesCopies(503, async () => sleep(40)),
      },
    ],
  ])("finds nothing wrong with %s, and says how much arrived", async (_, plant) => {
    const result = await explored(plant);
    expect(result).toMatchObject({
      outcome: "passed",
      explanation: expect.stringMatching(/^\d\d deliveries arrived under 10 schedules\.$/),
    });
  });
});

test("a copy that is refused after its event was delivered is told, whatever else went well", async () => {
  const check: Check = {
    ...exploreCheck(1),
    run: async (context) => {
      const player = await createPlayer(context);
      const [played] = await player.play([[{ fate: "2xx", copy: "after" }]]);
      await player.close();
      return failed(played?.refusal?.cause ?? "refused", played?.refusal?.problem);
    },
  };
  const { results } = await judge({ duplicateStatus: 409 }, { checks: [check] });
  expect(results.find(({ check: { group } }) => group === "explore")?.explanation).toMatch(
    /^A copy of event evt_[0-9a-f]{32} was not acknowledged: .*409/,
  );
});

async function explored(plant: Partial<Behaviour>) {
  const { results } = await judge(plant, { checks: [exploreCheck(SCHEDULES)] });
  return results.find(({ check }) => check.group === "explore");
}
