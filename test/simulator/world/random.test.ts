import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNoise, createRandom, mix32, stableId } from "../../../simulator/domain/random.ts";

const DRAWS = 20_000;

describe("a random stream", () => {
  test("is the same for the same seed and purpose, independent of other draws", () => {
    const draw = (seed: number, ...purpose: (string | number)[]) => {
      const random = createRandom(seed, ...purpose);
      return Array.from({ length: 10 }, () => random.next());
    };
    expect(draw(1, "calls", 2)).toEqual(draw(1, "calls", 2));
    const others = [
      draw(2, "calls", 2),
      draw(1, "calls", 3),
      draw(1, "calls"),
      draw(1, "calls2"),
      draw(1, "calls", "2"),
    ];
    expect(new Set([draw(1, "calls", 2), ...others].map((numbers) => numbers.join())).size).toBe(6);
  });

  test("is evenly distributed within its bounds", () => {
    const random = createRandom(1, "test");
    const counts = [0, 0, 0, 0];
    for (let draw = 0; draw < DRAWS; draw += 1) {
      const value = random.int(-1, 2);
      counts[value + 1]! += 1;
    }
    for (const count of counts) expect(Math.abs(count - DRAWS / 4)).toBeLessThan(DRAWS / 40);
  });

  test("picks by weights, from lists, and by probability", () => {
    const random = createRandom(1, "test");
    const heads = Array.from({ length: DRAWS }, () =>
      random.weighted([
        ["head", 9],
        ["tail", 1],
        ["edge", 0],
      ]),
    );
    expect(heads.filter((side) => side === "head").length / DRAWS).toBeCloseTo(0.9, 1);
    expect(heads).not.toContain("edge");
    expect(Array.from({ length: 100 }, () => random.chance(0))).not.toContain(true);
    expect(Array.from({ length: 100 }, () => random.chance(1))).not.toContain(false);
    expect(["a", "b"]).toContain(random.pick(["a", "b"]));
    expect(() => random.pick([])).toThrow("at least one item");
  });
});

describe("noise", () => {
  test("returns the same number for an index in any order, evenly distributed", () => {
    const [noise, again] = [createNoise(1, "time"), createNoise(1, "time")];
    const numbers = Array.from({ length: DRAWS }, (_, index) => noise(index));
    const backwards = numbers.map((_, index) => again(DRAWS - 1 - index)).toReversed();
    expect(backwards).toEqual(numbers);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const share = numbers.filter((number) => Math.floor(number * 10) === tenth).length / DRAWS;
      expect(share).toBeCloseTo(0.1, 1);
    }
    expect(createNoise(2, "time")(0)).not.toBe(noise(0));
    expect(createNoise(1, "outcome")(0)).not.toBe(noise(0));
  });

  test("mixes without a collision", () => {
    const seen = new Set(Array.from({ length: 100_000 }, (_, value) => mix32(value * 7_919)));
    expect(seen.size).toBe(100_000);
  });
});

describe("stable ids", () => {
  test("depend on all arguments, and on nothing else", () => {
    fc.assert(
      fc.property(fc.nat(), fc.string(), fc.nat(), (seed, purpose, index) => {
        const id = stableId("evt_", 32, { seed, purpose, index });
        expect(id).toMatch(/^evt_[0-9a-f]{32}$/);
        expect(stableId("evt_", 32, { seed, purpose, index })).toBe(id);
        const others = [
          stableId("evt_", 32, { seed: seed + 1, purpose, index }),
          stableId("evt_", 32, { seed, purpose: `${purpose}x`, index }),
          stableId("evt_", 32, { seed, purpose, index: index + 1 }),
          stableId("dlv_", 32, { seed, purpose, index }).replace("dlv_", "evt_"),
        ];
        expect(others).not.toContain(id);
      }),
    );
  });
});
