import { describe, expect, test } from "vitest";
import { LEASE_MS, type Claim } from "../../../receiver/engine.ts";
import { signalled, until } from "../helpers/until.ts";
import { accept, done, handler, never, newEvent, newEvents, setUp, type CreateBackend } from "./harness.ts";

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
        await processing(
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
      await processing(done, { engine: await open() });
      const dead = await until(
        () => engine.ledger.find(event.id),
        (found) => found?.state === "dead",
      );
      expect(dead).toMatchObject({ attempts: 3, handled: 0, lastError: expect.stringContaining("vanished") });
    });

    test("leave events that are handled alone, so that a deadly one takes no other along", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      const suspects = new Set<string>();
      await accept(engine, newEvents(4));
      let claims = 0;
      const claimed = signalled();
      await processing(async ({ id }) => {
        suspects.add(id);
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
      const attempts: number[] = [];
      await processing(
        async ({ id, attempt }) => {
          const isSuspect = suspects.has(id);
          if (isSuspect) attempts.push(attempt);
          running += 1;
          if (isSuspect) companions.push(running);
          await new Promise((resolve) => setImmediate(resolve));
          if (isSuspect) companions.push(running);
          running -= 1;
          return { kind: "done" };
        },
        { engine: other },
      );
      await ended(14);
      // In company nobody knows which of them was the reason, so it was no attempt of any.
      expect(attempts).toEqual([1, 1, 1, 1]);
      expect(companions).toEqual(Array.from({ length: 8 }, () => 1));
    });

    test("of a handler that nobody has any more leave an event that is ignored", async () => {
      const { engine, open, pass, processing } = await setUp(createBackend);
      const event = newEvent({ type: "order.created" });
      await accept(engine, [event]);
      const claimed = signalled();
      await processing(async () => {
        claimed.give();
        return never();
      });
      await claimed.promise;
      await engine.suspend();
      await pass(LEASE_MS + 1);
      await processing(done, {
        engine: await open(),
        handlers: [handler({ name: "another", types: ["call.completed"] })],
      });
      const found = await until(
        () => engine.ledger.find(event.id),
        (one) => one?.state === "ignored",
      );
      expect(found).toMatchObject({ handled: 0, nextAttemptAtMs: null });
    });

    test("are taken over from at once when they are known to be dead, and only they", async () => {
      const { engine, open, pass, processing, ended } = await setUp(createBackend);
      await accept(engine, newEvents(2));
      for (const workerId of ["dead", "still there"]) {
        const claimed = signalled();
        const machine = await open();
        await processing(
          async () => {
            claimed.give();
            return never();
          },
          { engine: machine, workerId, concurrency: 1 },
        );
        await claimed.promise;
        await machine.suspend();
      }
      const [first, second] = await engine.ledger.list({}, { limit: 2, afterSeq: 0 });
      await processing(done, { engine: await open(), predecessors: ["somebody else", "dead"] });
      const taken = await until(
        () => engine.ledger.find(first!.id),
        (found) => found?.state !== "claimed",
      );
      expect(taken).toMatchObject({
        state: "pending",
        attempts: 1,
        lastError: expect.stringContaining("vanished"),
      });
      // It waits for its backoff, though no longer than for a lease.
      const waitMs = taken!.nextAttemptAtMs! - (await engine.nowMs());
      expect(waitMs).toBeGreaterThan(LEASE_MS / 2);
      expect(waitMs).toBeLessThanOrEqual(LEASE_MS);
      expect(await engine.ledger.find(second!.id)).toMatchObject({ state: "claimed" });
      await pass(LEASE_MS);
      const ends = await ended(2);
      expect(ends.find(({ id }) => id === first!.id)).toMatchObject({ attempt: 2, outcome: "done" });
    });

    test("have their last attempt counted when they are known to be dead", async () => {
      const { engine, open, processing } = await setUp(createBackend, { maximumAttempts: 1 });
      const event = newEvent();
      await accept(engine, [event]);
      const claimed = signalled();
      await processing(
        async () => {
          claimed.give();
          return never();
        },
        { workerId: "dead" },
      );
      await claimed.promise;
      await engine.suspend();
      const other = await open();
      await processing(done, { engine: other, predecessors: ["dead"] });
      const dead = await until(
        () => other.ledger.find(event.id),
        (found) => found?.state === "dead",
      );
      expect(dead).toMatchObject({ attempts: 1 });
    });
  });
}
