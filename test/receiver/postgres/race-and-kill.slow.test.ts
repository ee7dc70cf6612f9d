import { expect, test } from "vitest";
import { raceAndKill } from "./race-and-kill.ts";

const EVENTS = Number(process.env["RACE_EVENTS"] ?? 400);
const PAUSE_MS = Number(process.env["RACE_PAUSE_MS"] ?? 300);

test(
  "six processes that are killed, cut off and starved of a server handle each acknowledged event once for each handler",
  { timeout: 1_800_000 },
  async () => {
    const outcome = await raceAndKill({ events: EVENTS, pauseMs: PAUSE_MS, random: Math.random });
    process.stderr.write(`${JSON.stringify(outcome)}\n`);
    const { acknowledged } = outcome;
    expect(acknowledged).toBeGreaterThanOrEqual(EVENTS);
    expect(outcome).toMatchObject({
      stored: acknowledged,
      effects: { plain: acknowledged, ordered: acknowledged, slow: acknowledged },
      twice: 0,
      missing: 0,
      unfinished: 0,
    });
  },
);
