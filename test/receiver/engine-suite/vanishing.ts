import { describe, expect, test } from "vitest";
import { LEASE_MS, type Claim } from "../../../receiver/engine.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, done, never, newEvent, newEvents, setUp, type CreateBackend } from "./harness.ts";

/** A worker vanishes by being suspended: its machine stands still, and may come back when nobody expects it. */
export function describeVanishing(name: string, createBackend: CreateBackend): void {
  describe(`${name}: workers that vanish`, () => {
    test("cost their event an attempt, and the last one is its end", async () => {
      const { engine, open, pass, processing } = await setUp(createBackend, { maximumAttempts: 3 });
      const event = newEvent();
      await accept(engine, [event]);
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const claimed = signalled<Claim>();
        const machine = await open();
        processing(
          async (claim) => {
            claimed.give(claim);
            return never();
          },
          { engine: machine },
        );
        expect((await claimed.promise).attempt).toBe(attempt);
        await machine.suspend();
        await pass(LEASE_MS + 1);
      }
      processing(done, { engine: await open() });
      const dead = await until(
        () => engine.ledger.find(event.id),
        (found) => found?.state === "dead",
      );
      expect(dead).toMatchObject({ attempts: 3, handled: 0, lastError: expect.stringContaining("vanished") });
    });

    test("leave events that are handled alone, so that a deadly one takes no other along", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      await accept(engine, newEvents(4));
      let claims = 0;
      const claimed = signalled();
      processing(async () => {
        claims += 1;
        if (claims === 4) claimed.give();
        return never();
      });
      await claimed.promise;
      await engine.suspend();
      await pass(LEASE_MS + 1);
      const other = await open();
      await accept(other, newEvents(10));
      let running = 0;
      const companions: number[] = [];
      processing(
        async ({ attempt }) => {
          running += 1;
          if (attempt > 1) companions.push(running);
          await new Promise((resolve) => setImmediate(resolve));
          if (attempt > 1) companions.push(running);
          running -= 1;
          return { kind: "done" };
        },
        { engine: other },
      );
      await ended(14);
      expect(companions).toEqual(Array.from({ length: 8 }, () => 1));
    });

    test("have their claims released when they are known to be dead, and only theirs", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      const event = newEvent();
      await accept(engine, [event]);
      const claimed = signalled();
      processing(
        async () => {
          claimed.give();
          return never();
        },
        { workerId: "known to be dead" },
      );
      await claimed.promise;
      await engine.suspend();
      const other = await open();
      expect(await other.work.release("somebody else")).toBe(0);
      expect(await other.ledger.find(event.id)).toMatchObject({ state: "claimed" });
      expect(await other.work.release("known to be dead")).toBe(1);
      expect(await other.work.release("known to be dead")).toBe(0);
      expect(await other.ledger.find(event.id)).toMatchObject({
        state: "pending",
        attempts: 1,
        lastError: expect.stringContaining("vanished"),
      });
      // It waits for its backoff, though no longer than for a lease.
      const dueAtMs = (await other.ledger.find(event.id))?.nextAttemptAtMs ?? 0;
      expect(dueAtMs - (await other.nowMs())).toBeGreaterThan(LEASE_MS / 2);
      expect(dueAtMs - (await other.nowMs())).toBeLessThanOrEqual(LEASE_MS);
      await pass(LEASE_MS);
      processing(done, { engine: other });
      expect(await ended(1)).toMatchObject([{ attempt: 2, outcome: "done" }]);
    });

    test("are taken over from at once, when they are certainly gone, and only they", async () => {
      const { engine, open, processing, ended } = await setUp(createBackend);
      const events = newEvents(2);
      await accept(engine, events);
      for (const workerId of ["gone", "still there"]) {
        const claimed = signalled();
        const machine = await open();
        processing(
          async () => {
            claimed.give();
            return never();
          },
          { engine: machine, workerId, concurrency: 1 },
        );
        await claimed.promise;
        await machine.suspend();
      }
      const beforeMs = await engine.nowMs();
      processing(done, { engine: await open(), isGone: (workerId) => workerId === "gone" });
      expect(await ended(1)).toMatchObject([{ attempt: 2, outcome: "done" }]);
      expect((await engine.nowMs()) - beforeMs).toBeLessThan(LEASE_MS / 2);
      expect(await engine.ledger.counts()).toMatchObject({ byState: { done: 1, claimed: 1 } });
    });

    test("have their last attempt counted when they are released", async () => {
      const { engine, open, processing } = await setUp(createBackend, { maximumAttempts: 1 });
      const event = newEvent();
      await accept(engine, [event]);
      const claimed = signalled();
      processing(
        async () => {
          claimed.give();
          return never();
        },
        { workerId: "known to be dead" },
      );
      await claimed.promise;
      await engine.suspend();
      const other = await open();
      expect(await other.work.release("known to be dead")).toBe(1);
      expect(await other.ledger.find(event.id)).toMatchObject({ state: "dead", attempts: 1 });
    });
  });
}
