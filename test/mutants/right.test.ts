import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";
import { CATALOGUE } from "../../simulator/verify/catalogue.ts";
import { ALL } from "../helpers/run/sizes.ts";
import { idsOf, judge, story } from "./judge.ts";
import { lull, refusesCopies } from "./planted/helpers.ts";
import type { Behaviour } from "./behaviour.ts";

/** Receivers that are correct in another way than the small one, and the most advice that they may get. */
const RIGHT: Record<string, { plant: Partial<Behaviour>; advice?: string[]; underWayMs?: number }> = {
  "answers 502, 503 and 504 until it has booted": {
    plant: { precheck: (_, state) => (state.requests < 4 ? 501 + state.requests : undefined) },
  },
  "keeps one effect an object, so that a later event takes an earlier one's place": {
    plant: {
      afterHandled: ({ id, data }, state) => {
        const latest = latestOf.get(state) ?? new Map<unknown, string>();
        latestOf.set(state, latest);
        const earlier = latest.get(data.object["id"]);
        if (data.object["id"] === undefined) return;
        if (earlier !== undefined && earlier !== id) state.handled.set(earlier, 0);
        latest.set(data.object["id"], id);
      },
    },
  },
  "reads the first of two signature headers": {
    plant: { chooseHeader: (headers) => headers[0] },
    advice: ["signature.two-headers"],
  },
  "reads its clock with fractions": {
    plant: { ageAccepted: (t, nowMs) => /^\d{1,15}$/.test(t) && Math.abs(nowMs / 1_000 - Number(t)) <= 300 },
    advice: ["signature.past-300"],
  },
  "rounds its clock to the nearest second": {
    plant: {
      ageAccepted: (t, nowMs) =>
        /^\d{1,15}$/.test(t) && Math.abs(Math.round(nowMs / 1_000) - Number(t)) <= 300,
    },
  },
  "answers 503 to a copy of an event that is under way": {
    plant: { beforeAnswer: refusesCopies(503, lull) },
    advice: ["duplicates.at-once", "load.one-event-storm"],
    // On a busy machine it works on an event for long.
    underWayMs: 5_000,
  },
  "takes ids that differ in case for one event": { plant: { dedupeKey: ({ id }) => id.toLowerCase() } },
  "refuses by closing the connection": {
    plant: {
      answer: (response, status) => {
        if (status === 401) response.socket?.destroy();
        else response.writeHead(status).end();
      },
    },
  },
};

/** The latest event of each object, by receiver. */
const latestOf = new WeakMap<object, Map<unknown, string>>();

/** Checks that send an event that must be handled, and demand nothing else of its first delivery. */
const REPEATED = [
  "effects.each-type",
  "effects.after-forgery",
  "effects.reserialized-retry",
  "effects.same-call-two-types",
  "effects.distinct-ids",
];

/** With `npm test` only those that are judged alike however busy the machine is. */
const JUDGED = Object.entries(RIGHT).filter(([, { underWayMs }]) => ALL || underWayMs === undefined);

describe.concurrent("right in another way: no failure, and no other advice than stated", () => {
  test.for(JUDGED)("%s", async ([, { plant, advice = [], ...timing }], { expect }) => {
    const report = await judge(plant, timing);
    const failed = idsOf(report, "failed");
    expect(
      failed.filter((id) => !advice.includes(id)),
      story(report),
    ).toEqual([]);
    expect(report.verdict).toBe("passed");
  });

  test("a retry comes no sooner than the service's: the event may still be in progress", async ({
    expect,
  }) => {
    const ids = ["wire.half-close", "duplicates.after-lost-answer", "effects.lost-answer"];
    const checks = CATALOGUE.filter(({ id }) => ids.includes(id));
    const slow: Partial<Behaviour> = { beforeAnswer: refusesCopies(503, async () => sleep(700)) };
    const report = await judge(slow, { checks, underWayMs: 2_000 });
    expect(idsOf(report, "failed"), story(report)).toEqual([]);
    expect(idsOf(report, "passed")).toEqual(expect.arrayContaining(ids));
  });

  test("an event whose first delivery is answered 503 is judged by its retry", async ({ expect }) => {
    const checks = CATALOGUE.filter(({ id }) => REPEATED.includes(id));
    const before = new Set<string>();
    const acceptable: Behaviour["acceptable"] = ({ id }) => {
      const isFirst = before.size > 0 && !before.has(id);
      before.add(id);
      return isFirst ? 503 : true;
    };
    const report = await judge({ acceptable }, { checks });
    expect(idsOf(report, "failed"), story(report)).toEqual([]);
    expect(idsOf(report, "passed")).toEqual(expect.arrayContaining(REPEATED));
  });
});
