import { describe, expect, test } from "vitest";
import type { Reading } from "../../simulator/observer/observer.ts";
import { isHandled } from "../../simulator/verify/judgement.ts";
import { settle } from "../../simulator/verify/settle.ts";

const ACKNOWLEDGED = { acknowledged: true, documented: true, superseded: false };
const entry = (eventId: string, more: object = {}) => ({ eventId, ...ACKNOWLEDGED, ...more });

/** A receiver that has handled each event after so many readings of its count. */
function receiver(after: Record<string, number>) {
  const readings = new Map<string, number>();
  return {
    readings,
    observe: async (eventId: string): Promise<Reading> => {
      const times = (readings.get(eventId) ?? 0) + 1;
      readings.set(eventId, times);
      return { known: true, count: times > (after[eventId] ?? Number.POSITIVE_INFINITY) ? 1 : 0 };
    },
  };
}

describe("the wait for effects ends", () => {
  test("when every acknowledged event was handled, and not before", async () => {
    const { observe } = receiver({ a: 0, b: 3 });
    const handled = await settle({ entries: [entry("a"), entry("b")], observe, withinMs: 5_000, quietMs: 1 });
    for (const id of ["a", "b"]) expect(handled.of(id)).toEqual({ known: true, count: 1 });
  });

  test("when nothing changed for so long, although one is missing", async () => {
    const { observe } = receiver({ a: 0 });
    const startedAt = performance.now();
    const handled = await settle({ entries: [entry("a"), entry("b")], observe, withinMs: 120, quietMs: 1 });
    // Timers of Node.js may be a millisecond or two early.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(115);
    expect(handled.of("b")).toEqual({ known: true, count: 0 });
  });

  test("however late, as long as one more is handled before each wait is over", async () => {
    const events = ["a", "b", "c", "d"];
    const startedAt = performance.now();
    const observe = async (eventId: string): Promise<Reading> => {
      const isDone = performance.now() - startedAt >= 500 * (events.indexOf(eventId) + 1);
      return { known: true, count: isDone ? 1 : 0 };
    };
    const entries = events.map((id) => entry(id));
    const handled = await settle({ entries, observe, withinMs: 1_500, quietMs: 1 });
    expect(events.filter((id) => !isHandled(handled.of(id)))).toEqual([]);
  });

  test("with the result open if the run's time is over first", async () => {
    let leftMs = 60;
    const { observe } = receiver({});
    const given = { entries: [entry("a")], observe, withinMs: 5_000, quietMs: 1 };
    const handled = await settle({ ...given, leftMs: () => (leftMs -= 50) });
    expect([handled.isOver, handled.of("a")]).toEqual([true, { known: true, count: 0 }]);
  });

  test.each([{ deferredUntil: "2026-11-28T09:00:00Z" }, { isIgnored: true }])(
    "without waiting for an event that the receiver reports as %o",
    async (more) => {
      const startedAt = performance.now();
      const observe = async (): Promise<Reading> => ({ known: true, count: 0, ...more });
      const now = () => Date.parse("2026-11-28T08:59:39Z");
      await settle({ entries: [entry("a")], observe, withinMs: 30_000, quietMs: 1, now });
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    },
  );

  test("after a wait for an event that is deferred for some seconds", async () => {
    const { observe } = receiver({ a: 3 });
    const deferred = async (id: string) => ({
      deferredUntil: "2026-11-28T09:00:00Z",
      ...(await observe(id)),
    });
    const now = () => Date.parse("2026-11-28T08:59:40Z");
    const given = { entries: [entry("a")], observe: deferred, withinMs: 30_000, quietMs: 1, now };
    expect(isHandled((await settle(given)).of("a"))).toBe(true);
  });

  test.each([
    ["was never acknowledged", { acknowledged: false }],
    ["nobody need act on", { documented: false }],
    ["a later one takes the place of", { superseded: true }],
  ])("without waiting for an event that %s, whose count is read anyway", async (_, more) => {
    const { observe, readings } = receiver({});
    const startedAt = performance.now();
    const handled = await settle({ entries: [entry("a", more)], observe, withinMs: 30_000, quietMs: 1 });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(handled.of("a")).toEqual({ known: true, count: 0 });
    expect(readings.get("a")).toBe(1);
  });

  test("with counts that were all read after the last one was handled", async () => {
    const counts = new Map<string, number>([["early", 1]]);
    let polls = 0;
    const handled = await settle({
      entries: [entry("early"), entry("late")],
      async observe(eventId) {
        if (eventId === "late") {
          polls += 1;
          // When the late one is handled, the early one is handled a second time.
          if (polls === 3) counts.set("late", 1).set("early", 2);
        }
        return { known: true, count: counts.get(eventId) ?? 0 };
      },
      withinMs: 5_000,
      quietMs: 1,
    });
    expect(handled.of("early")).toEqual({ known: true, count: 2 });
  });

  test("with counts that were all read after a time in which nothing was sent: a second handling may come late", async () => {
    const quietMs = 80;
    const startedAt = performance.now();
    const observe = async (): Promise<Reading> => {
      return { known: true, count: performance.now() - startedAt < quietMs - 5 ? 1 : 2 };
    };
    const handled = await settle({ entries: [entry("a")], observe, withinMs: 5_000, quietMs });
    expect(handled.of("a")).toEqual({ known: true, count: 2 });
  });

  test.each([
    [1, true],
    [4, false],
  ])("after %i failed readings of a count in a row, it is known: %s", async (failures, known) => {
    let readings = 0;
    const observe = async (): Promise<Reading> =>
      ++readings <= failures ? { known: false, reason: "no answer" } : { known: true, count: 1 };
    const handled = await settle({ entries: [entry("a")], observe, withinMs: 1_000, quietMs: 1 });
    expect(handled.of("a").known).toBe(known);
  });

  test("without a count of other events", async () => {
    const handled = await settle({ entries: [], observe: receiver({}).observe, withinMs: 1, quietMs: 1 });
    expect(handled.of("x").known).toBe(false);
  });
});
