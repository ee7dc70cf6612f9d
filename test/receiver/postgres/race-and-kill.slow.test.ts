import { expect, test } from "vitest";
import { raceAndKill } from "./race-and-kill.ts";

const { RACE_EVENTS = "400", RACE_PAUSE_MS = "300", RACE_BEFORE } = process.env;

test(
  "processes that are killed, cut off and starved of a server handle each acknowledged event once for each handler",
  { timeout: 1_800_000 },
  async () => {
    const outcomes = await raceAndKill({
      events: Number(RACE_EVENTS),
      pauseMs: Number(RACE_PAUSE_MS),
      random: Math.random,
      before: RACE_BEFORE,
    });
    process.stderr.write(`${JSON.stringify(outcomes)}\n`);
    expect(outcomes).toHaveLength(2);
    for (const { acknowledged, ...outcome } of outcomes) {
      expect(acknowledged).toBeGreaterThan(0);
      expect(outcome).toMatchObject({
        stored: acknowledged,
        effects: { plain: acknowledged, ordered: acknowledged, slow: acknowledged },
        twice: 0,
        missing: 0,
        unfinished: 0,
      });
    }
  },
);
