import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  describeSchedule,
  exploreCheck,
  type Schedule,
  simplerSchedules,
} from "../../simulator/verify/explore.ts";
import { judge } from "../mutants/judge.ts";
import { DUPLICATES } from "../mutants/planted/duplicates.ts";
import { refusesCopies } from "../mutants/planted/helpers.ts";
import type { Behaviour } from "../mutants/receiver.ts";

const SCHEDULES = 10;

describe.concurrent("the explorer", () => {
  test.each<[string, Partial<Behaviour>, RegExp]>([
    ["a second handling", { remember: () => true }, /should be handled once, but the receiver says \d times/],
    [
      "a refused duplicate",
      { duplicateStatus: 409 },
      /should be acknowledged, but the receiver answered 409/,
    ],
    [
      "an event that is never handled",
      { handlings: ({ type }) => (type === "order.created" ? 0 : 1) },
      /should be handled once, but the receiver says never/,
    ],
    [
      "what arrived of a body that was cut",
      DUPLICATES["handles-half"]?.plant ?? {},
      /should be handled (?:never|once), but/,
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

test("a schedule is simpler without any one of its attempts or copies, and with any simpler fate", () => {
  const schedule: Schedule = [{ fate: "answer lost" }, { fate: "not sent", copy: "after" }];
  expect(simplerSchedules(schedule)).toEqual([
    [{ fate: "not sent", copy: "after" }],
    [{ fate: "answer lost" }],
    [{ fate: "2xx" }, { fate: "not sent", copy: "after" }],
    [{ fate: "not sent" }, { fate: "not sent", copy: "after" }],
    [{ fate: "answer lost" }, { fate: "not sent" }],
    [{ fate: "answer lost" }, { fate: "2xx", copy: "after" }],
  ]);
  expect(simplerSchedules([{ fate: "2xx" }])).toEqual([]);
});

test("a schedule is told to its end: with the success that follows it, unless it has one or six attempts", () => {
  const schedule: Schedule = [{ fate: "cut off" }, { fate: "answer lost", copy: "during" }];
  expect(describeSchedule(schedule)).toBe("cut off → answer lost with a copy during it → 2xx");
  expect(describeSchedule([{ fate: "not sent" }, { fate: "slow body" }])).toBe("not sent → slow body");
  expect(describeSchedule(Array.from({ length: 6 }, () => ({ fate: "cut off" })))).toBe(
    Array.from({ length: 6 }, () => "cut off").join(" → "),
  );
});

async function explored(plant: Partial<Behaviour>) {
  const { results } = await judge(plant, { checks: [exploreCheck(SCHEDULES)] });
  return results.find(({ check }) => check.group === "explore");
}
