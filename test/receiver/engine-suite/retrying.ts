import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../receiver/engine.ts";
import { until } from "../helpers/until.ts";
import { accept, BACKOFF_MS, done, newEvent, newEvents, setUp, type CreateBackend } from "./harness.ts";

export function describeRetrying(name: string, createBackend: CreateBackend): void {
  describe(`${name}: trying again`, () => {
    test("gives a failed event another attempt after its backoff, not before", async () => {
      const backoffMs = (attempt: number): number => attempt * BACKOFF_MS;
      const { engine, pass, processing, ended } = await setUp(createBackend, { backoffMs });
      const event = newEvent({ type: "failing" });
      await accept(engine, [event]);
      await processing(async ({ type, attempt }) =>
        type === "failing" && attempt < 3 ? { kind: "failed", error: "not yet" } : { kind: "done" },
      );
      expect(await ended(1)).toMatchObject([{ attempt: 1, outcome: "failed", error: "not yet" }]);
      expect(await engine.ledger.find(event.id)).toMatchObject({
        state: "pending",
        attempts: 1,
        lastError: "not yet",
      });
      expect(await untilDueMs()).toBeGreaterThan(BACKOFF_MS - 10_000);
      expect(await untilDueMs()).toBeLessThanOrEqual(BACKOFF_MS);

      await pass(BACKOFF_MS);
      await ended(2);
      expect(await untilDueMs()).toBeGreaterThan(2 * BACKOFF_MS - 10_000);
      await pass(2 * BACKOFF_MS - 10_000);
      // Once the worker has handled something new, it has looked and left the other alone.
      await accept(engine, [newEvent()]);
      await ended(3);
      expect(await engine.ledger.find(event.id)).toMatchObject({ state: "pending", attempts: 2 });
      await pass(10_000);
      expect((await ended(4))[3]).toMatchObject({ id: event.id, attempt: 3, outcome: "done" });
      expect(await engine.ledger.find(event.id)).toMatchObject({
        state: "done",
        lastError: null,
        handled: 1,
      });

      async function untilDueMs(): Promise<number> {
        const found = await engine.ledger.find(event.id);
        return found!.nextAttemptAtMs! - (await engine.nowMs());
      }
    });

    test("tries again at once when there is nothing to wait for", async () => {
      const { engine, processing, ended } = await setUp(createBackend, { backoffMs: () => 0 });
      const event = newEvent();
      await accept(engine, [event]);
      await processing(async ({ attempt }) => ({ kind: "failed", error: `attempt ${String(attempt)}` }));
      const attempts = await ended(5);
      expect(attempts.map(({ attempt, outcome }) => `${String(attempt)} ${outcome}`)).toEqual([
        "1 failed",
        "2 failed",
        "3 failed",
        "4 failed",
        "5 dead",
      ]);
      expect(await engine.ledger.find(event.id)).toMatchObject({
        state: "dead",
        attempts: 5,
        lastError: "attempt 5",
      });
    });

    test("ends as dead after its last attempt, at once when it is hopeless, and stays visible", async () => {
      const { engine, processing, ended } = await setUp(createBackend, { maximumAttempts: 1 });
      const [worn, hopeless] = [newEvent({ type: "worn" }), newEvent({ type: "hopeless" })];
      await accept(engine, [worn, hopeless]);
      await processing(async ({ type }) => ({
        kind: type === "worn" ? "failed" : "dead",
        error: `it was ${type}`,
      }));
      const ends = await ended(2);
      expect(ends.map(({ outcome, error }) => `${outcome}: ${String(error)}`).toSorted()).toEqual([
        "dead: it was hopeless",
        "dead: it was worn",
      ]);
      expect(await engine.ledger.find(worn.id)).toMatchObject({
        state: "dead",
        lastError: "it was worn",
        handled: 0,
        nextAttemptAtMs: null,
        finishedAtMs: expect.any(Number),
      });
      const dead = await engine.ledger.list({ state: "dead" }, { limit: 10 });
      expect(dead.map(({ id }) => id)).toEqual([hopeless.id, worn.id]);
    });

    test("keeps an error whatever it contains", async () => {
      const { engine, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      await processing(async () => ({ kind: "failed", error: "zero \0 byte, half a pair \ud83d, 'quote'" }));
      await ended(1);
      const { lastError } = (await engine.ledger.find(event.id))!;
      expect(lastError).toContain("byte, half a pair ");
      expect(lastError).toContain("'quote'");
    });

    test("does not let a backlog of new events hold up a retry that is due", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      await accept(engine, [newEvent({ type: "failing" })]);
      const first = await processing(failOnce);
      await ended(1);
      await first.drain(0);
      await pass(BACKOFF_MS + 1);
      await accept(engine, newEvents(600));
      await processing(failOnce);
      const ends = await ended(602);
      expect(ends.findIndex(({ type, attempt }) => type === "failing" && attempt === 2)).toBeLessThan(300);
    });

    test("does not let retries that are due hold up a new event", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      await accept(engine, newEvents(600, { type: "failing" }));
      const first = await processing(failOnce, { concurrency: 50 });
      await ended(600);
      await first.drain(0);
      await pass(BACKOFF_MS + 1);
      await accept(engine, [newEvent({ type: "new" })]);
      await processing(failOnce);
      const ends = await ended(1_201);
      expect(ends.findIndex(({ type }) => type === "new")).toBeLessThan(900);
    });

    test("goes on with new events while others fail again and again", async () => {
      const { engine, processing, handled } = await setUp(createBackend, {
        maximumAttempts: 1_000_000,
        backoffMs: () => 0,
      });
      await accept(engine, newEvents(50, { type: "failing" }));
      await processing(async ({ type }) =>
        type === "failing" ? { kind: "failed", error: "always" } : { kind: "done" },
      );
      await until(
        () => handled.length,
        (length) => length > 100,
      );
      const fresh = newEvents(20);
      await accept(engine, fresh);
      const counts = await until(
        () => engine.ledger.counts(),
        ({ byState }) => byState.done === 20,
      );
      expect(counts.byState).toMatchObject({ dead: 0, ignored: 0 });
    });

    test("measures how long the oldest event has been waiting", async () => {
      const { engine, pass, processing, ended } = await setUp(createBackend);
      expect((await engine.ledger.counts()).oldestUnfinishedAgeMs).toBeNull();
      await accept(engine, [newEvent({ type: "failing" })]);
      await pass(5_000);
      await accept(engine, [newEvent()]);
      const failing = await processing(failOnce);
      await ended(2);
      const aged = (await engine.ledger.counts()).oldestUnfinishedAgeMs;
      expect(aged).toBeGreaterThanOrEqual(5_000);
      expect(aged).toBeLessThan(40_000);
      // Of two workers one would take the other for dead when that much time has passed at once.
      await failing.drain(1_000);
      await processing(done);
      await pass(BACKOFF_MS);
      await ended(3);
      expect((await engine.ledger.counts()).oldestUnfinishedAgeMs).toBeNull();
    });
  });
}

async function failOnce({ type, attempt }: { type: string; attempt: number }): Promise<Outcome> {
  return type === "failing" && attempt === 1 ? { kind: "failed", error: "once" } : { kind: "done" };
}
